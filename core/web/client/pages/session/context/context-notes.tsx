/** What stands below the blocks: the biggest of them, the parameters that belong to the cache's key, the client's cache marks, and the call again. */
import type { ComponentChildren } from 'preact';
import type { CallContext } from '../../../../../model/call-context.ts';
import { readRawTurn } from '../../../api/raw-turns.ts';
import { CopyButton } from '../../../parts/copy-button.tsx';
import { grouped } from '../../../parts/number-text.ts';
import { Recorded } from '../../../parts/recorded.tsx';
import { callWord } from '../call/call-order.ts';
import { curlOf } from '../span-panel/copy-dialog.tsx';
import { biggest } from './block-rows.ts';
import { BlockTokens } from './block-tokens.tsx';

type ContextNotesProps = { context: CallContext; calls: readonly number[]; onSelect: (block: number) => void };

const BIGGEST = 5;
const MARKS = 20;

export function ContextNotes({ context, calls, onSelect }: ContextNotesProps) {
  const { blocks, marks, parameters, raw_turn_id, unattributed_tokens } = context;
  return (
    <dl class="context-notes">
      {unattributed_tokens !== 0 && (
        <Note term="not in the bytes">
          <span data-number="unattributed_tokens" data-value={unattributed_tokens}>
            {grouped(unattributed_tokens)} tokens
          </span>
          <span class="muted">were billed that no block explains</span>
        </Note>
      )}
      <Note term="biggest">
        {biggest(blocks, BIGGEST).map((block) => (
          <span key={block.n}>
            <button type="button" class="plain link" onClick={() => onSelect(block.n)}>
              <Recorded text={block.label.slice(0, 48) || block.path} />
            </button>{' '}
            <BlockTokens {...block} name="block_tokens" />
            {block.since !== null && block.since !== raw_turn_id && (
              <span class="muted"> since {callWord(calls, block.since)}</span>
            )}
          </span>
        ))}
      </Note>
      <Note term="parameters">
        {parameters.length === 0 && <span class="muted">none</span>}
        {parameters.map(({ name, value, same }) => (
          <span key={name} data-parameter={name} data-same={same ?? ''} title={value.slice(0, 500)}>
            <Recorded text={name} />{' '}
            {value === '' ? (
              'gone'
            ) : same === true ? (
              <span class="muted">same</span>
            ) : (
              <code class={same === false ? 'op-change' : ''}>
                <Recorded text={value.slice(0, 80)} />
              </code>
            )}
            {same === false && value !== '' && ' changed'}
          </span>
        ))}
      </Note>
      <Note term="cache marks">
        {marks.length === 0 && <span class="muted">none</span>}
        {marks.slice(0, MARKS).map(({ block, ttl }) => (
          <span key={block} data-mark={block}>
            <button type="button" class="plain link" onClick={() => onSelect(block)}>
              <Recorded text={blocks[block]?.path ?? `block ${block}`} />
            </button>{' '}
            {ttl}
          </span>
        ))}
        {marks.length > MARKS && <span class="muted">{marks.length - MARKS} more</span>}
      </Note>
      <Note term="take along">
        <CopyButton text={async () => curlOf(await readRawTurn(raw_turn_id))} label="Copy the call as a curl command">
          curl
        </CopyButton>
      </Note>
    </dl>
  );
}

const Note = ({ term, children }: { term: string; children: ComponentChildren }) => (
  <div>
    <dt>{term}</dt>
    <dd>{children}</dd>
  </div>
);
