/** The Cache lens: how much of the session's prompts came from the cache, and where and why that broke off. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { CacheBreak, SessionCache } from '../../../../../model/cache-break.ts';
import { useAddress } from '../../../address.ts';
import { useKeys } from '../../../keys.ts';
import { Cost, Tokens } from '../../../parts/figure.tsx';
import { grouped } from '../../../parts/number-text.ts';
import { Problem } from '../../../parts/problem.tsx';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import { outlineIndex } from '../../../store/outline-index.ts';
import { useSession } from '../session-store.ts';
import { BreakCard } from './break-card.tsx';
import { WriteStrip } from './write-strip.tsx';
import './breaks.css';
import './cache-lens.css';

const SHOWN = 50;

export function CacheLens() {
  const { id, outline, breaks } = useSession();
  const columns = outline.columns.value;
  const calls = columns === null ? -1 : outlineIndex(columns).calls.length;
  useEffect(() => {
    if (calls >= 0) breaks.want(calls);
  }, [calls]);
  const cache = breaks.cache.value;
  if (breaks.failure.value !== null) return <Problem error={breaks.failure.value} onRetry={breaks.retry} />;
  return cache && columns && <Cache session={id} columns={columns} cache={cache} />;
}

type CacheProps = { session: string; columns: OutlineColumns; cache: SessionCache };

function Cache({ session, columns, cache }: CacheProps) {
  const { breaks, verdict, truncated } = cache;
  const span = useAddress().query.get('span');
  const current = breaks.find(({ span_id }) => span_id !== null && span_id === span)?.raw_turn_id ?? -1;
  const list = useRef<HTMLDivElement>(null);
  const calls = useMemo(
    () => [...outlineIndex(columns).calls].map((span) => columns.spans.raw_turn_id[span] ?? Number.NaN),
    [columns],
  );
  const marks = useMemo(
    () =>
      breaks.flatMap(({ raw_turn_id, planned }) => {
        const call = calls.indexOf(raw_turn_id);
        return call < 0 ? [] : [{ call, planned }];
      }),
    [breaks, calls],
  );
  const lost = breaks.filter(({ planned }) => !planned);
  const planned = breaks.filter((one) => one.planned);
  const step = (by: 1 | -1) => {
    const cards = [...(list.current?.querySelectorAll<HTMLElement>('.break-card') ?? [])];
    if (cards.length === 0) return false;
    const focused = cards.findIndex((card) => card.contains(document.activeElement));
    const at = focused < 0 ? cards.findIndex((card) => card.ariaCurrent) : focused;
    const next = cards[at < 0 ? (by > 0 ? 0 : cards.length - 1) : (at + by + cards.length) % cards.length];
    next?.querySelector('a')?.focus();
    next?.scrollIntoView({ block: 'nearest' });
    return true;
  };
  useKeys(
    {
      d: { does: 'next cache break', run: () => step(1) },
      D: { does: 'previous cache break', run: () => step(-1) },
    },
    { scope: 'Cache' },
  );
  useEffect(() => {
    performance.mark('svc:cache-ready');
  }, []);
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'center' });
  }, [current]);
  return (
    <div class="cache-lens" ref={list} data-verdict={verdict}>
      <Figures cache={cache} />
      {truncated && (
        <p class="cache-words" role="note">
          Too long to be read whole: all of this is of the first {grouped(cache.calls)} calls.
        </p>
      )}
      <WriteStrip columns={columns} breaks={marks} />
      <h2>{headline(lost.length, verdict)}</h2>
      <p class="muted cache-words">{wordsOf(lost.length, verdict)}</p>
      <Breaks of={lost} {...{ session, calls, current }} name="Breaks" />
      {planned.length > 0 && (
        <>
          <h2>{planned.length} planned</h2>
          <p class="muted cache-words">Listed, and not counted as lost: first calls, compactions, another model.</p>
          <Breaks of={planned} {...{ session, calls, current }} name="Planned" />
        </>
      )}
    </div>
  );
}

const headline = (breaks: number, verdict: SessionCache['verdict']): string => {
  if (breaks > 0) return `${breaks} ${breaks === 1 ? 'break' : 'breaks'}`;
  return verdict === 'judged' ? 'No break' : 'No verdict';
};

function wordsOf(breaks: number, verdict: SessionCache['verdict']): string {
  if (verdict === 'does not say')
    return 'No provider of this session says how it caches prompts, so nothing here can be called a break.';
  return breaks > 0
    ? 'Calls that sent again what the provider held, and read less of it from the cache than they could.'
    : 'Each call read from the cache what the provider held of its prompt.';
}

function Figures({ cache }: { cache: SessionCache }) {
  const { read_tokens, write_tokens, fresh_tokens, rewrite_factor, saved_usd, lost_usd } = cache;
  return (
    <dl class="cache-figures">
      <Fact term="read">
        <Tokens count={read_tokens} name="read_tokens" />
      </Fact>
      <Fact term="written">
        <Tokens count={write_tokens} name="write_tokens" />
      </Fact>
      <Fact term="fresh">
        <Tokens count={fresh_tokens} name="fresh_tokens" />
      </Fact>
      <Fact term="re-write factor" title="tokens written ÷ the largest prompt">
        {rewrite_factor === null ? (
          '—'
        ) : (
          <span data-number="rewrite_factor" data-value={rewrite_factor}>
            {rewrite_factor.toFixed(1)}×
          </span>
        )}
      </Fact>
      <Fact term="saved" title="what the read tokens would have cost as plain input, less what they cost">
        <Cost usd={saved_usd} name="saved_usd" />
      </Fact>
      <Fact term="lost" title="to breaks that were not planned">
        <Cost usd={lost_usd} name="session_lost_usd" />
      </Fact>
    </dl>
  );
}

type FactProps = { term: string; title?: string; children: ComponentChildren };

const Fact = ({ term, title, children }: FactProps) => (
  <div title={title}>
    <dt>{term}</dt>
    <dd>{children}</dd>
  </div>
);

type BreaksProps = {
  of: readonly CacheBreak[];
  session: string;
  calls: readonly number[];
  current: number; // a raw turn: the address leads to its break
  name: string;
};

function Breaks({ of: breaks, session, calls, current, name }: BreaksProps) {
  const [most, setMost] = useState(SHOWN);
  const shown = Math.max(most, 1 + breaks.findIndex(({ raw_turn_id }) => raw_turn_id === current));
  if (breaks.length === 0) return null;
  return (
    <>
      <ul class="break-cards" aria-label={name}>
        {breaks.slice(0, shown).map((one) => (
          <BreakCard key={one.raw_turn_id} of={one} {...{ session, calls }} isCurrent={one.raw_turn_id === current} />
        ))}
      </ul>
      {breaks.length > shown && (
        <button type="button" onClick={() => setMost(shown + SHOWN)}>
          {breaks.length - shown} more
        </button>
      )}
    </>
  );
}
