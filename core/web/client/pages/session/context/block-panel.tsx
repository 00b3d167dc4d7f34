/** One block of a prompt: its facts, its text or its JSON, and what in it is different from the other call's. */
import { useEffect, useState } from 'preact/hooks';
import type { BlockContent, BlockKind, CallContext } from '../../../../../model/call-context.ts';
import { readBlock } from '../../../api/context.ts';
import { hrefOf } from '../../../base.ts';
import { Bytes, Tokens } from '../../../parts/figure.tsx';
import { Formatted } from '../../../parts/formatted.tsx';
import { grouped } from '../../../parts/number-text.ts';
import { PlainText } from '../../../parts/plain-text.tsx';
import { Problem } from '../../../parts/problem.tsx';
import { Recorded } from '../../../parts/recorded.tsx';
import { useReading } from '../../use-reading.ts';
import { callWord } from '../call/call-order.ts';
import { callPath } from '../call/call-path.ts';
import { ImageBlock } from '../talk/image-block.tsx';
import { RecordedValue } from '../talk/recorded-value.tsx';
import type { Entry } from './block-changes.ts';
import { entryKey } from './block-rows.ts';
import { BlockTokens } from './block-tokens.tsx';
import { inlineImage } from './inline-image.ts';
import { kindWord } from './kind-words.ts';
import { textPair } from './member-text.ts';

type BlockPanelProps = {
  session: string;
  context: CallContext;
  entry: Entry;
  calls: readonly number[];
  /** Its text is on screen. */
  onReady: () => void;
};

type Contents = { own: BlockContent; before: BlockContent | null };
type Look = 'first' | 'whole' | 'json';

const FIRST = 4_000; // characters
const CHANGE_WORDS: Readonly<Record<string, string>> = {
  add: 'new',
  remove: 'gone',
  change: 'changed',
  move: 'moved',
};

export function BlockPanel({ session, context, entry, calls, onReady }: BlockPanelProps) {
  const { block, gone, change } = entry;
  const { raw_turn_id, against } = context;
  const other = against?.raw_turn_id ?? raw_turn_id;
  const [turned, setTurned] = useState<{ look: Look; of: string }>({ look: 'first', of: '' });
  const before = change?.op === 'change' ? (change.before ?? null) : null;
  const key = `${raw_turn_id} ${other} ${entryKey(entry)} ${before}`;
  const {
    answer,
    error,
    key: shown,
    retry,
  } = useReading<Contents>(key, async (signal) => {
    const [own, was] = await Promise.all([
      block ? readBlock(raw_turn_id, block.n, signal) : readBlock(other, gone?.n ?? 0, signal),
      before === null ? null : readBlock(other, before, signal),
    ]);
    return { own, before: was };
  });
  const contents = shown === key ? answer : null;
  useEffect(() => {
    if (contents || error !== null) onReady();
  }, [contents, error]);
  const shape = block ?? gone;
  const look = turned.of === key ? turned.look : 'first'; // each block begins anew
  const turn = (wanted: Look) => setTurned({ look: look === wanted ? 'first' : wanted, of: key });
  return (
    <section class="block-panel" aria-label="The block" data-panel={entryKey(entry)}>
      <h2>
        <Recorded text={shape.path || kindWord(shape.kind)} />
      </h2>
      <p class="block-facts">
        <span>{kindWord(shape.kind)}</span>
        {shape.label !== '' && shape.kind !== 'user' && <Recorded text={shape.label.slice(0, 60)} />}
        {change && <strong class={`op-${change.op}`}>{CHANGE_WORDS[change.op]}</strong>}
        {block && (
          <span>
            <BlockTokens {...block} name="block_tokens" /> tokens{block.billed_as && `, ${BILLED[block.billed_as]}`}
          </span>
        )}
        <Bytes count={shape.bytes} name="block_bytes" />
        {block?.since != null && block.since !== raw_turn_id && (
          <span>
            since <a href={hrefOf(callPath(session, block.since, 'context'))}>{callWord(calls, block.since)}</a>
          </span>
        )}
        {block?.span && <a href={hrefOf(`/sessions/${session}?span=${block.span.span_id}`)}>in Talk</a>}
      </p>
      {block && context.break?.where?.block === block.n && <BreakCost context={context} />}
      <div class="block-looks">
        {contents?.own.text != null && (
          <button type="button" aria-pressed={look === 'whole'} onClick={() => turn('whole')}>
            Whole text
          </button>
        )}
        <button type="button" aria-pressed={look === 'json'} onClick={() => turn('json')}>
          As JSON
        </button>
      </div>
      {error !== null && <Problem error={error} onRetry={retry} />}
      {contents && (
        <Content
          key={key}
          {...contents}
          kind={shape.kind}
          path={change?.path ?? ''}
          look={look}
          onWhole={() => turn('whole')}
        />
      )}
    </section>
  );
}

const BILLED = { read: 'read from the cache', write: 'written to the cache', fresh: 'fresh', mixed: 'billed in parts' };

const BreakCost = ({ context: { break: found } }: { context: CallContext }) => (
  <p class="block-break">
    <span aria-hidden="true">◆</span> The cache broke here: <Tokens count={found?.rewritten_tokens ?? 0} /> tokens that
    the provider held were not read from it.
  </p>
);

type ContentProps = Contents & { kind: BlockKind; path: string; look: Look; onWhole: () => void };

function Content({ own, before, kind, path, look, onWhole }: ContentProps) {
  if (look === 'json') return <RecordedValue value={own.json} />;
  if (before && look === 'first') {
    const pair = textPair(before, own, path);
    return (
      <div data-diff={path}>
        {pair.of !== '' && (
          <p class="muted">
            in <Recorded text={pair.of} />
          </p>
        )}
        <Formatted kind="diff" text={pair.after} before={pair.before} />
      </div>
    );
  }
  if (own.text === null) {
    const image = kind === 'image' || kind === 'held' ? inlineImage(own.json) : null;
    return image ? (
      <ImageBlock block={{ kind: 'image', url: '', at: 0, ...image }} whole />
    ) : (
      <RecordedValue value={own.json} />
    );
  }
  const isCut = look === 'first' && own.text.length > FIRST;
  return (
    <>
      {!own.exact && <p class="muted">Characters that JSON cannot hold were replaced.</p>}
      <div class="block-text" data-text={isCut ? 'beginning' : 'whole'}>
        <PlainText text={isCut ? beginningOf(own.text) : own.text} isMono />
      </div>
      {isCut && (
        <button type="button" onClick={onWhole}>
          all {grouped(own.text.length)} characters
        </button>
      )}
    </>
  );
}

/** Never half of a character. */
function beginningOf(text: string): string {
  const last = text.charCodeAt(FIRST - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? FIRST - 1 : FIRST);
}
