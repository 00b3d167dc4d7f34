/** The strip: a session's calls at one glance, in every lens. As tall as their input, coloured by how that was billed. */
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { CacheBreak } from '../../../../../model/cache-break.ts';
import { useWidth } from '../../../parts/element-width.ts';
import { countText } from '../../../parts/number-text.ts';
import { slider } from '../../../parts/slider.ts';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';
import { colours } from '../../../store/preferences.ts';
import { FindRail } from './find-rail.tsx';
import { nearestCall } from './nearest-call.ts';
import { callAt, middleOf, stripBins } from './strip-bins.ts';
import { drawStrip, STRIP_HEIGHT } from './strip-drawing.ts';
import { StripMarks } from './strip-mark-list.tsx';
import { stripMarks } from './strip-marks.ts';
import './strip.css';

type StripProps = {
  columns: OutlineColumns;
  index: OutlineIndex;
  breaks: readonly CacheBreak[]; // of the cache
  cacheHref: (span: number) => string; // where the break of a call leads
  isComing: boolean; // they may still come
  selected: number; // a span; -1: none
  onSelect: (span: number) => void;
};

export function Strip({ columns, index, breaks, cacheHref, isComing, selected, onSelect }: StripProps) {
  const { calls } = index;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const bins = useMemo(() => stripBins(columns, index, width), [columns, index, width]);
  const marks = useMemo(() => stripMarks(columns, index, breaks), [columns, index, breaks]);
  const current = nearestCall(columns, index, selected);
  useLayoutEffect(() => {
    if (canvas.current && width > 0) drawStrip(canvas.current, width, bins, { marks, calls: calls.length });
  }, [bins, marks, width, colours.value]);
  if (calls.length === 0) return null;

  return (
    <div class="strip-area">
      <div
        ref={box}
        class="strip"
        {...slider({
          label: 'Calls of the session',
          text: spoken(
            columns,
            index,
            current,
            marks.filter(({ call }) => call === current),
          ),
          count: calls.length,
          selected: current,
          at: (x) => callAt(x, width, calls.length),
          onSelect: (call) => onSelect(calls[call] ?? -1),
        })}
      >
        <canvas ref={canvas} height={STRIP_HEIGHT} />
        <div
          class="strip-thumb"
          aria-hidden="true"
          style={{ transform: `translateX(${Math.round(middleOf(current, width, calls.length))}px)` }}
        />
      </div>
      <FindRail {...{ columns, index, width }} />
      <StripMarks {...{ marks, cacheHref, isComing, selected, onSelect }} />
    </div>
  );
}

function spoken(
  { spans }: OutlineColumns,
  { calls }: OutlineIndex,
  call: number,
  marks: readonly { words: string }[],
): string {
  const span = calls[call] ?? -1;
  const tokens = `${countText(spans.input_tokens[span] || 0)} tokens in`;
  const read = `${countText(spans.cache_read_tokens[span] || 0)} read from the cache`;
  const what = marks.map(({ words }) => words.replace(/^call \d+: /, ''));
  return [`call ${call + 1} of ${calls.length}`, tokens, read, ...what].join(', ');
}
