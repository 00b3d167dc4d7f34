/** The bar above the waterfall: which prompt, how close, how the time was spent, and what the colours mean. */

import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';
import { visibleText } from '../../../worker/invisible.ts';
import type { TimeLensView } from './time-view.ts';

type TimeToolsProps = {
  columns: OutlineColumns;
  index: OutlineIndex;
  trace: number;
  view: TimeLensView;
  beside: boolean;
  onTrace: (trace: number) => void;
  onBeside: (beside: boolean) => void;
  onZoom: (factor: number | null) => void; // null: the whole
  onMove: (share: number) => void;
};

const LONGEST_PROMPT = 60;
const MOST_LISTED = 200; // of more prompts one is chosen by its number, which rows show

export function TimeTools({ columns, index, trace, view, beside, onTrace, onBeside, onZoom, onMove }: TimeToolsProps) {
  const { range, whole, shares } = view;
  const isWhole = range.from <= whole.from && range.to >= whole.to;
  const { traces } = columns;
  const percent = (part: number) => `${Math.round(part * 100)} %`;
  return (
    <div class="time-tools">
      {index.traces.length > MOST_LISTED ? (
        <input
          type="number"
          aria-label="Prompt, by its number"
          min={1}
          max={index.traces.length}
          placeholder="all prompts"
          value={index.traces.indexOf(trace) + 1 || ''}
          onChange={({ currentTarget }) => onTrace(index.traces[Number(currentTarget.value) - 1] ?? -1)}
        />
      ) : (
        <select
          aria-label="Prompt"
          value={trace}
          onChange={({ currentTarget }) => onTrace(Number(currentTarget.value))}
        >
          <option value={-1}>all prompts</option>
          {[...index.traces].map((one, n) => (
            <option key={traces.trace_id[one]} value={one}>
              {`${n + 1} · ${visibleText((traces.user_prompt[one] ?? '').slice(0, LONGEST_PROMPT))}`}
            </option>
          ))}
        </select>
      )}
      <fieldset class="time-zoom" aria-label="Range of time">
        <button
          type="button"
          aria-label="Look closer"
          title="Look closer (+)"
          aria-keyshortcuts="+"
          onClick={() => onZoom(0.5)}
        >
          +
        </button>
        <button
          type="button"
          aria-label="Look from farther"
          title="Look from farther (-)"
          aria-keyshortcuts="-"
          disabled={isWhole}
          onClick={() => onZoom(2)}
        >
          −
        </button>
        <button
          type="button"
          aria-label="Earlier"
          title="Earlier (Shift ←)"
          disabled={isWhole}
          onClick={() => onMove(-0.5)}
        >
          ‹
        </button>
        <button type="button" aria-label="Later" title="Later (Shift →)" disabled={isWhole} onClick={() => onMove(0.5)}>
          ›
        </button>
        <button
          type="button"
          title="The whole time (0)"
          aria-keyshortcuts="0"
          disabled={isWhole}
          onClick={() => onZoom(null)}
        >
          whole
        </button>
      </fieldset>
      <label class="time-beside">
        <input
          type="checkbox"
          checked={beside}
          aria-keyshortcuts="b"
          onChange={(event) => onBeside(event.currentTarget.checked)}
        />{' '}
        calls beside
      </label>
      {shares && (
        <span class="time-shares" title="Of the time of prompts in view. Waiting: nothing recorded was under way">
          <span class="key time-model" /> model{' '}
          <b data-number="model_share" data-value={shares.model}>
            {percent(shares.model)}
          </b>
          <span class="key time-tool" /> tools{' '}
          <b data-number="tools_share" data-value={shares.tools}>
            {percent(shares.tools)}
          </b>
          <span class="key time-idle" /> waiting{' '}
          <b data-number="waiting_share" data-value={shares.waiting}>
            {percent(shares.waiting)}
          </b>
          <span class="key time-wait" /> to the first byte
          <span class="key time-critical" /> critical path
        </span>
      )}
    </div>
  );
}
