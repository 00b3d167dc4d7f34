/** The sums of the window, and how they compare with the window before. */

import type { StatsSeries } from '../../../../model/stats-series.ts';
import { Cost, Count, Tokens } from '../../parts/figure.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import type { SpendTotals } from './read-spend.ts';
import { changeOf, changeText } from './spend-days.ts';

type SpendSumsProps = Pick<SpendTotals, 'now' | 'before'> & {
  unpriced: StatsSeries['unpriced_models'];
  /** What was lost to breaks of the prompt cache; null: not known. */
  avoidable: number | null;
};

export function SpendSums({ now, before, unpriced, avoidable }: SpendSumsProps) {
  const isPartial = now.unpriced_models.length > 0;
  const hasPrice = now.total_cost > 0 || !isPartial;
  const change = changeOf(now.total_cost, before.total_cost);
  return (
    <>
      <p class="spend-sum">
        <strong>
          <Cost name="total_cost" usd={hasPrice ? now.total_cost : null} atLeast={isPartial} />
        </strong>{' '}
        {change !== null && (
          <span class="muted" data-number="change" data-value={change}>
            {changeText(change)} in as many days before
          </span>
        )}{' '}
        {avoidable !== null && avoidable > 0 && (
          <span>
            avoidable <Cost name="avoidable" usd={avoidable} />
          </span>
        )}
      </p>
      <p>
        <Tokens name="input_tokens" count={now.input_tokens} /> tokens in,{' '}
        <Tokens name="output_tokens" count={now.output_tokens} /> out, in{' '}
        <Count name="session_count" count={now.session_count} /> {now.session_count === 1 ? 'session' : 'sessions'} with{' '}
        <Count name="tool_calls" count={now.tool_calls} /> tool calls
      </p>
      {isPartial && (
        <p class="spend-unpriced" data-unpriced={now.unpriced_models.length}>
          No price is known for{' '}
          {now.unpriced_models.map((model, i) => (
            <>
              {i > 0 && ', '}
              <Recorded text={model} />
              <TokensOf model={model} unpriced={unpriced} />
            </>
          ))}
          : what they cost is in no sum here. Prices of your own go into the file that pricing.file names.
        </p>
      )}
      {now.turn_count === 0 && <p>Nothing was recorded in this window.</p>}
    </>
  );
}

function TokensOf({ model, unpriced }: { model: string; unpriced: StatsSeries['unpriced_models'] }) {
  const found = unpriced.find((each) => each.model === model);
  return found ? (
    <>
      {' ('}
      <Tokens name="unpriced_tokens" count={found.tokens} /> tokens)
    </>
  ) : null;
}
