/** A break of the cache in one line, where a call is looked at. */
import type { CacheBreak } from '../../../../../model/cache-break.ts';
import { Cost, Tokens } from '../../../parts/figure.tsx';
import { Recorded } from '../../../parts/recorded.tsx';
import { CAUSES } from './break-causes.ts';
import { BreakGround } from './break-ground.tsx';
import { whereText } from './break-words.ts';

type BreakLineProps = { of: CacheBreak; onSelect: (block: number) => void };

export function BreakLine({ of: found, onSelect }: BreakLineProps) {
  const { cause, planned, where, rewritten_tokens, lost_usd } = found;
  return (
    <p class={planned ? 'break-line planned' : 'break-line'} data-break={cause} data-planned={planned}>
      <span class="break-sign" aria-hidden="true">
        {planned ? '≈' : '◆'}
      </span>
      <span>
        {planned ? 'planned' : 'cache break'}: {CAUSES[cause]}
      </span>
      {where && (
        <button type="button" class="plain link" onClick={() => onSelect(where.block)}>
          <Recorded text={whereText(found)} />
        </button>
      )}
      <span>
        <Tokens count={rewritten_tokens} name="rewritten_tokens" /> written again
      </span>
      {!planned && lost_usd !== null && (
        <span class="break-lost">
          −<Cost usd={lost_usd} name="lost_usd" />
        </span>
      )}
      <BreakGround ground={found.ground} />
    </p>
  );
}
