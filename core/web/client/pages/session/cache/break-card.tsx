/** A break of the cache in full: what it cost, where the prompts part and how, the call it is laid against, and what helps. */
import type { CacheBreak } from '../../../../../model/cache-break.ts';
import { hrefOf } from '../../../base.ts';
import { Cost, Tokens } from '../../../parts/figure.tsx';
import { Recorded, Visible } from '../../../parts/recorded.tsx';
import { callWord } from '../call/call-order.ts';
import { callPath } from '../call/call-path.ts';
import { CAUSES } from './break-causes.ts';
import { BreakGround } from './break-ground.tsx';
import { gapText, type Parted, parted, UNEXPLAINED, whereText } from './break-words.ts';

type BreakCardProps = {
  of: CacheBreak;
  session: string;
  calls: readonly number[];
  isCurrent: boolean; // the address leads to it
};

export function BreakCard({ of: found, session, calls, isCurrent }: BreakCardProps) {
  const { raw_turn_id, cause, planned, before, advice, lost_usd, rewritten_tokens, ground, span_id } = found;
  const against = before ? `?against=${before.raw_turn_id}` : '';
  return (
    <li
      class="break-card"
      data-break={cause}
      data-planned={planned}
      data-call={raw_turn_id}
      data-ground={ground}
      aria-current={isCurrent || undefined}
      tabIndex={-1}
    >
      <h3>
        <span class="break-sign" aria-hidden="true">
          {planned ? '≈' : '◆'}
        </span>{' '}
        <a href={hrefOf(callPath(session, raw_turn_id, 'context') + against)}>{callWord(calls, raw_turn_id)}</a>{' '}
        {CAUSES[cause]}
      </h3>
      <p class="break-figures">
        {planned ? (
          <span class="muted">planned</span>
        ) : (
          <strong class="break-lost">
            {lost_usd !== null && '−'}
            <Cost usd={lost_usd} name="lost_usd" />
          </strong>
        )}
        <span>
          <Tokens count={rewritten_tokens} name="rewritten_tokens" /> written again
        </span>
        <span class="muted">
          <Tokens count={found.read_tokens} name="read_tokens" /> of{' '}
          <Tokens count={found.expected_tokens} name="expected_tokens" /> read
        </span>
        <BreakGround ground={ground} />
      </p>
      {cause === 'unexplained' && <p>{UNEXPLAINED}</p>}
      <Place of={found} />
      {before && (
        <p class="muted">
          compared with{' '}
          <a href={hrefOf(callPath(session, before.raw_turn_id, 'context'))}>{callWord(calls, before.raw_turn_id)}</a>,{' '}
          {gapText(before.gap_ms)} before{before.ttl !== null && `, written for ${TTLS[before.ttl]}`}
        </p>
      )}
      {advice !== null && (
        <p class="break-advice">
          What helps: <Recorded text={advice} />
        </p>
      )}
      {span_id !== null && (
        <p>
          <a href={hrefOf(`/sessions/${session}?span=${span_id}`)}>the call in Talk</a>
        </p>
      )}
    </li>
  );
}

const TTLS = { '5m': '5 minutes', '1h': 'an hour' };

function Place({ of: found }: { of: CacheBreak }) {
  const { where, was, is } = found;
  if (!where) return null;
  const texts = was !== null && is !== null ? parted(was, is) : null;
  return (
    <div class="break-place" data-path={where.path} data-char={where.char ?? ''}>
      <code>
        <Recorded text={whereText(found)} />
      </code>
      {was !== null && <Side word="was" sign="−" text={texts?.was ?? { start: '', changed: was, end: '' }} />}
      {is !== null && <Side word="is" sign="+" text={texts?.is ?? { start: '', changed: is, end: '' }} />}
    </div>
  );
}

type SideProps = { word: 'was' | 'is'; sign: string; text: Parted };

const Side = ({ word, sign, text: { start, changed, end } }: SideProps) => (
  <div class={`break-side break-${word} mono`} data-side={word}>
    <span aria-hidden="true">{sign}</span>
    <span class="spoken">{word}: </span>
    <bdi>
      <Visible text={start} />
      {changed !== '' && (
        <mark>
          <Visible text={changed} />
        </mark>
      )}
      <Visible text={end} />
    </bdi>
  </div>
);
