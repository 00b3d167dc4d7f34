/** The lines of a difference: sign and colour say what came and went, and the words that changed stand out. */
import type { DiffLine } from '../worker/tokens.ts';
import { Visible } from './recorded.tsx';

const SIGNS = { same: ' ', added: '+', removed: '−', gap: '⋯' } as const;
const WORDS = { same: '', added: 'added: ', removed: 'removed: ', gap: '' } as const;

export const DiffView = ({ lines }: { lines: readonly DiffLine[] }) => (
  <div class="diff mono" dir="ltr">
    {lines.map(({ op, parts }) => (
      <div class={`diff-${op}`} data-op={op}>
        <span class="diff-sign" aria-hidden="true">
          {SIGNS[op]}
        </span>
        {WORDS[op] && <span class="spoken">{WORDS[op]}</span>}
        <span class="diff-text">
          {parts.map(({ text, changed }) =>
            changed ? (
              <mark>
                <Visible text={text} />
              </mark>
            ) : (
              <Visible text={text} />
            ),
          )}
        </span>
      </div>
    ))}
  </div>
);
