/** The Calls lens: all calls of the session, a row each, which lead to their bytes. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAddress } from '../../../address.ts';
import { hrefOf } from '../../../base.ts';
import { moveOf } from '../../../key-strokes.ts';
import { useKeys } from '../../../keys.ts';
import { Cost, Duration, Tokens } from '../../../parts/figure.tsx';
import { FixedRows, type FixedRowsHandle } from '../../../parts/fixed-rows.tsx';
import { Recorded } from '../../../parts/recorded.tsx';
import { StatusMark } from '../../../parts/status-mark.tsx';
import { type OutlineColumns, spanIndex } from '../../../store/outline-columns.ts';
import { outlineIndex } from '../../../store/outline-index.ts';
import { useSession } from '../session-store.ts';
import './calls.css';

const ROW_PX = 28;

export function CallsLens() {
  const { id, outline } = useSession();
  const columns = outline.columns.value;
  return columns === null ? null : <Calls session={id} columns={columns} />;
}

function Calls({ session, columns }: { session: string; columns: OutlineColumns }) {
  const { query, go } = useAddress();
  const { calls, callOf } = outlineIndex(columns);
  const linked = callOf[spanIndex(columns, '', query.get('span') ?? '')] ?? -1;
  const [active, setActive] = useState(Math.max(0, linked));
  const list = useRef<FixedRowsHandle>(null);
  const { spans } = columns;
  const pathOf = (n: number): string | null => {
    const raw = spans.raw_turn_id[calls[n] ?? -1] ?? Number.NaN;
    return Number.isNaN(raw) ? null : `/sessions/${session}/calls/${raw}`;
  };
  const goTo = (n: number) => {
    const next = Math.max(0, Math.min(calls.length - 1, n));
    setActive(next);
    list.current?.reveal(next);
    list.current?.focusLink(next);
  };
  const open = () => {
    const path = pathOf(active);
    if (path !== null) go(path);
  };
  useEffect(() => {
    if (linked < 0) return;
    setActive(linked);
    list.current?.reveal(linked, 'center');
  }, [linked]);
  useKeys(
    {
      j: { does: 'next call', run: () => goTo(active + 1) },
      k: { does: 'previous call', run: () => goTo(active - 1) },
    },
    { scope: 'Calls' },
  );
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, () => void>> = {
      ArrowDown: () => goTo(active + 1),
      ArrowUp: () => goTo(active - 1),
      PageDown: () => goTo(active + 15),
      PageUp: () => goTo(active - 15),
      Home: () => goTo(0),
      End: () => goTo(calls.length - 1),
      Enter: open,
    };
    const step = moveOf(steps, event);
    if (!step || (event.key === 'Enter' && event.target !== event.currentTarget)) return; // a link opens itself
    event.preventDefault();
    step();
  };
  if (calls.length === 0) return <p class="muted">The session has no calls.</p>;
  return (
    <div class="calls-lens">
      <FixedRows
        role="list"
        label="Calls of the session"
        count={calls.length}
        height={ROW_PX}
        active={active}
        rowKey={(n) => spans.span_id[calls[n] ?? -1] ?? n}
        handle={list}
        onKeyDown={onKeyDown}
        rowAttributes={(n) => ({
          class: n === active ? 'call-row active' : 'call-row',
          'data-span': spans.span_id[calls[n] ?? -1],
          'data-kind': 'llm',
          'data-status': columns.names[spans.status[calls[n] ?? -1] ?? 0],
          onFocusIn: () => setActive(n),
        })}
        renderRow={(n) => <CallRow columns={columns} n={n} span={calls[n] ?? -1} href={pathOf(n)} />}
      />
    </div>
  );
}

type CallRowProps = { columns: OutlineColumns; n: number; span: number; href: string | null };

function CallRow({ columns: { spans, names }, n, span, href }: CallRowProps) {
  const name = (column: Int32Array) => names[column[span] ?? 0] ?? '';
  const known = (column: Float64Array) => (Number.isNaN(column[span] ?? Number.NaN) ? null : (column[span] ?? null));
  const kind = name(spans.call_kind).replace(/^offshoot:/, '');
  return (
    <>
      <span class="call-number muted">{n + 1}</span>
      <StatusMark status={name(spans.status)} short />
      <a class="call-name" {...(href !== null && { href: hrefOf(href) })}>
        <span class="muted">
          <Recorded text={name(spans.name)} /> {kind === 'main' ? '' : kind}
        </span>{' '}
        <Recorded text={spans.label[span] ?? ''} />
      </a>
      <span class="call-figures">
        <span>
          <Tokens count={spans.input_tokens[span] || 0} name="input_tokens" /> in
        </span>
        <span>
          <Tokens count={spans.output_tokens[span] || 0} name="output_tokens" /> out
        </span>
        <Duration us={known(spans.duration_us)} />
        <Cost usd={known(spans.cost_usd)} />
      </span>
    </>
  );
}
