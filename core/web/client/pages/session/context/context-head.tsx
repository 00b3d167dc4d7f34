/** The head of a call's context: which call, of which thread and model, how full its window was, and what it is laid against. */
import type { CallContext } from '../../../../../model/call-context.ts';
import { useAddress } from '../../../address.ts';
import { Cost } from '../../../parts/figure.tsx';
import { grouped } from '../../../parts/number-text.ts';
import { Recorded } from '../../../parts/recorded.tsx';
import { BreakLine } from '../cache/break-line.tsx';
import { callWord, placeOf } from '../call/call-order.ts';

type ContextHeadProps = { context: CallContext; calls: readonly number[]; onSelect: (block: number) => void };

const AROUND = 30; // calls before and after that can be picked

export function ContextHead({ context, calls, onSelect }: ContextHeadProps) {
  const { raw_turn_id, thread_id, model, provider, usage, window_tokens, reach } = context;
  const place = placeOf(calls, raw_turn_id) || callWord(calls, raw_turn_id);
  return (
    <header class="context-head">
      <h1>What {place} saw</h1>
      <p class="context-facts">
        <span>{thread_id === '' ? 'main' : <Recorded text={thread_id.slice(0, 60)} />}</span>
        <Recorded text={model || provider} />
        {usage ? (
          <span>
            <strong data-number="input_tokens" data-value={usage.input_tokens}>
              {grouped(usage.input_tokens)}
            </strong>
            {window_tokens !== null && ` of ${grouped(window_tokens)}`} tokens
          </span>
        ) : (
          <span>the provider counted no tokens</span>
        )}
        {usage && <Cost usd={usage.cost_usd} />}
        <Against context={context} calls={calls} />
      </p>
      {reach === 'tail' && (
        <p class="context-note">
          The provider held more of this prompt than is recorded here, so its beginning is missing.
        </p>
      )}
      {context.break && <BreakLine of={context.break} onSelect={onSelect} />}
    </header>
  );
}

function Against({ context: { raw_turn_id, against }, calls }: { context: CallContext; calls: readonly number[] }) {
  const { query, setQuery } = useAddress();
  const chosen = query.get('against') ?? '';
  const at = calls.indexOf(raw_turn_id);
  const near = calls.slice(Math.max(0, at - AROUND), at + AROUND + 1).filter((other) => other !== raw_turn_id);
  const isListed = chosen === '' || chosen === 'none' || near.includes(Number(chosen));
  const isDefault = chosen === '' && against !== null;
  return (
    <label class="context-against">
      against{' '}
      <select
        value={chosen}
        onChange={({ currentTarget }) => setQuery({ against: currentTarget.value || null, block: null })}
      >
        <option value="">
          {isDefault ? `the one before: ${callWord(calls, against.raw_turn_id)}` : 'the one before'}
        </option>
        <option value="none">nothing</option>
        {!isListed && <option value={chosen}>raw turn {Number(chosen)}</option>}
        {near.map((other) => (
          <option key={other} value={`${other}`}>
            {callWord(calls, other)}
          </option>
        ))}
      </select>
    </label>
  );
}
