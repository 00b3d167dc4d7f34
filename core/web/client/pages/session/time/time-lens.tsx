/** The Time lens: a waterfall of the session's steps, with a lane for each thread. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useAddress } from '../../../address.ts';
import { useKeys } from '../../../keys.ts';
import { useWidth } from '../../../parts/element-width.ts';
import { FixedRows, type FixedRowsHandle } from '../../../parts/fixed-rows.tsx';
import { type OutlineColumns, spanIndex, traceIndex } from '../../../store/outline-columns.ts';
import { outlineIndex } from '../../../store/outline-index.ts';
import { useSession } from '../session-store.ts';
import { SpanPanel } from '../span-panel/span-panel.tsx';
import { TimeAxis } from './time-axis.tsx';
import { treeKey } from './time-keys.ts';
import { TimeRowView, timeRowAttributes } from './time-row.tsx';
import { TimeTools } from './time-tools.tsx';
import { useTimeView } from './time-view.ts';
import { moved, rangeText, type TimeRange, zoomed } from './zoom.ts';
import './time.css';
import './time-rows.css';

const ROW_PX = 22;

/** What is folded, by session: it lasts until the page is loaded anew. */
const folds = new Map<string, ReadonlySet<string>>();

export function TimeLens() {
  const { id, outline } = useSession();
  const columns = outline.columns.value;
  return columns === null ? null : <Waterfall session={id} columns={columns} />;
}

function Waterfall({ session, columns }: { session: string; columns: OutlineColumns }) {
  const { query, setQuery } = useAddress();
  const index = outlineIndex(columns);
  const [toggled, setToggled] = useState<ReadonlySet<string>>(folds.get(session) ?? new Set());
  const [beside, setBeside] = useState(true);
  const [chosen, setActive] = useState(0);
  const list = useRef<FixedRowsHandle>(null);
  const chart = useRef<HTMLDivElement>(null);
  const width = useWidth(chart);
  const trace = traceIndex(columns, query.get('trace') ?? '');
  const spanId = query.get('span') ?? '';
  const selected = useMemo(() => (spanId === '' ? -1 : spanIndex(columns, '', spanId)), [columns, spanId]);
  const view = useTimeView(columns, index, { toggled, trace, beside, zoom: query.get('t'), width });
  const { rows, scale, range, whole, origin } = view;
  const active = Math.min(chosen, rows.count - 1); // rows go with a filter or a fold
  const numbers = useMemo(() => new Map([...index.traces].map((one, n) => [one, n + 1])), [index]);

  const toggle = (key: string) => {
    const next = new Set(toggled);
    if (!next.delete(key)) next.add(key);
    folds.set(session, next);
    setToggled(next);
  };
  const select = (span: number) => setQuery({ span: columns.spans.span_id[span] ?? null });
  const zoom = (next: TimeRange | null) => setQuery({ t: next && rangeText(next, origin) }, { replace: true });
  const middle = (range.from + range.to) / 2;
  const zoomToSpan = () => {
    const span = selected >= 0 ? selected : rows.row(active).span;
    const from = columns.spans.started_us[span] ?? whole.from;
    const length = Math.max(columns.spans.duration_us[span] || 0, 1000);
    zoom({ from: from - length * 0.05, to: from + length * 1.05 });
  };
  const goTo = (row: number) => {
    if (row < 0 || row >= rows.count) return;
    setActive(row);
    list.current?.reveal(row);
  };

  // A span that the address names is shown, whatever it was folded into.
  const arrived = useRef('');
  useEffect(() => {
    if (spanId === '' && arrived.current !== '') arrived.current = 'none';
    if (selected < 0 || width === 0) return;
    const row = rows.rowOf(selected);
    if (row < 0) return;
    if (arrived.current === spanId) return; // the reader may have folded it since
    const { folded, key, span } = rows.row(row);
    if (folded && (span !== selected || key.startsWith('run '))) return toggle(key);
    list.current?.reveal(row, arrived.current === '' ? 'center' : 'nearest');
    arrived.current = spanId;
    setActive(row);
    performance.mark('svc:span-ready');
  }, [selected, rows, width]);
  const thread = query.get('thread') ?? '';
  useEffect(() => {
    const lane = index.threads.find(({ name }) => thread !== '' && columns.names[name] === thread)?.spans[0];
    const row = lane === undefined || width === 0 ? -1 : rows.rowOf(lane);
    if (row < 0) return;
    setActive(row);
    list.current?.reveal(row, 'center');
  }, [thread, width > 0]);
  useEffect(() => {
    if (width > 0) performance.mark('svc:time-ready');
  }, [width > 0]);

  useKeys(
    {
      j: { does: 'next row', run: () => goTo(active + 1) },
      k: { does: 'previous row', run: () => goTo(active - 1) },
      o: {
        does: 'fold or unfold the row',
        run: () => rows.row(active).folded !== null && toggle(rows.row(active).key),
      },
      z: { does: 'look closer at the step', run: zoomToSpan },
      '0': { does: 'the whole time', run: () => zoom(null) },
      '+': { does: 'look closer', run: () => zoom(zoomed(range, whole, middle, 0.5)) },
      '-': { does: 'look from farther', run: () => zoom(zoomed(range, whole, middle, 2)) },
      b: { does: 'show or hide calls beside', run: () => setBeside(!beside) },
    },
    { scope: 'Time' },
  );
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.shiftKey && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
      event.preventDefault();
      return zoom(moved(range, whole, event.key === 'ArrowLeft' ? -0.25 : 0.25));
    }
    treeKey(event, { rows, active, goTo, toggle, open: () => select(rows.row(active).span) });
  };
  const propsOf = (n: number) => {
    const row = rows.row(n);
    return {
      ...{ columns, index, row, scale },
      number: numbers.get(row.trace) ?? 0,
      active: n === active,
      selected: row.span >= 0 && row.span === selected && row.type !== 'run',
      critical: row.type !== 'run' && view.critical[row.span] === 1,
      onFold: () => row.folded !== null && toggle(row.key),
      onSelect: () => {
        setActive(n);
        if (row.type === 'run') toggle(row.key);
        else select(row.span);
      },
    };
  };
  return (
    <div class={selected >= 0 ? 'time-lens with-panel' : 'time-lens'}>
      <TimeTools
        {...{ columns, index, trace, view, beside }}
        onTrace={(next) => setQuery({ trace: columns.traces.trace_id[next] ?? null, t: null })}
        onBeside={setBeside}
        onZoom={(factor) => zoom(factor === null ? null : zoomed(range, whole, middle, factor))}
        onMove={(share) => zoom(moved(range, whole, share))}
      />
      <div class="time-chart">
        <div class="time-head">
          <span class="time-name">step</span>
          <div class="time-track" ref={chart}>
            {width > 0 && <TimeAxis scale={scale} origin={whole.from} onRange={zoom} />}
          </div>
        </div>
        {width > 0 && (
          <FixedRows
            role="tree"
            label="Steps of the session by time"
            height={ROW_PX}
            count={rows.count}
            active={active}
            rowKey={(n) => rows.row(n).key}
            handle={list}
            onKeyDown={onKeyDown}
            rowAttributes={(n) => timeRowAttributes(propsOf(n))}
            renderRow={(n) => <TimeRowView {...propsOf(n)} />}
          />
        )}
      </div>
      {selected >= 0 && (
        <SpanPanel {...{ columns, index, span: selected }} onSelect={select} onClose={() => setQuery({ span: null })} />
      )}
    </div>
  );
}
