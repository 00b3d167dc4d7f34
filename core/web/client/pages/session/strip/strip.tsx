/** The strip: a session's calls at one glance, in every lens. As tall as their input, coloured by how that was billed. */
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { CacheBreak } from '../../../../../model/cache-break.ts';
import { useWidth } from '../../../parts/element-width.ts';
import { countText } from '../../../parts/number-text.ts';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';
import { theme } from '../../../store/preferences.ts';
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
  cacheHref: string; // where they lead
  isComing: boolean; // they may still come
  selected: number; // a span; -1: none
  onSelect: (span: number) => void;
};

const PAGE = 10; // calls

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
  }, [bins, marks, width, theme.value]);
  if (calls.length === 0) return null;

  const go = (call: number) => onSelect(calls[Math.max(0, Math.min(calls.length - 1, call))] ?? -1);
  const goTo = (event: PointerEvent) => {
    const { left } = box.current?.getBoundingClientRect() ?? { left: 0 };
    const call = callAt(event.clientX - left, width, calls.length);
    if (call !== current) go(call);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const target = targetOf(event.key, current, calls.length);
    if (target === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    go(target);
  };
  return (
    <div class="strip-area">
      <div
        ref={box}
        class="strip"
        role="slider"
        tabIndex={0}
        aria-label="Calls of the session"
        aria-valuemin={1}
        aria-valuemax={calls.length}
        aria-valuenow={current + 1}
        aria-valuetext={spoken(
          columns,
          index,
          current,
          marks.filter(({ call }) => call === current),
        )}
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          goTo(event);
        }}
        onPointerMove={(event) => {
          if (event.currentTarget.hasPointerCapture(event.pointerId)) goTo(event);
        }}
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

function targetOf(key: string, current: number, count: number): number | null {
  if (key === 'ArrowLeft' || key === 'ArrowDown') return current - 1;
  if (key === 'ArrowRight' || key === 'ArrowUp') return current + 1;
  if (key === 'PageUp') return current + PAGE;
  if (key === 'PageDown') return current - PAGE;
  if (key === 'Home') return 0;
  return key === 'End' ? count - 1 : null;
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
