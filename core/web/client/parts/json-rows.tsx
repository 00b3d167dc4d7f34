/** A JSON value as a tree of rows that open and close, of which only those in view are in the document. */
import { useMemo, useRef, useState } from 'preact/hooks';
import { moveOf } from '../key-strokes.ts';
import { copyText } from './copy-text.ts';
import { type JsonRow, jsonRowList } from './json-row-list.ts';
import { grouped } from './number-text.ts';
import { Visible } from './recorded.tsx';
import { VirtualList, type VirtualListHandle } from './virtual-list.tsx';
import './json-rows.css';

const ROW_PX = 24;
const LONGEST_VALUE = 2_000;

/** @param openTo how deep it is open at first */
export function JsonRows({ value, label = 'JSON', openTo = 2 }: { value: unknown; label?: string; openTo?: number }) {
  const [turned, setTurned] = useState<ReadonlySet<string>>(new Set());
  const [focused, setFocused] = useState(0);
  const handle = useRef<VirtualListHandle>(null);
  const rows = useMemo(
    () => jsonRowList(value, (path, depth) => depth < openTo !== turned.has(path)),
    [value, turned, openTo],
  );
  const turn = ({ path }: JsonRow) => {
    const next = new Set(turned);
    if (!next.delete(path)) next.add(path);
    setTurned(next);
  };
  const focus = (index: number) => {
    if (index < 0 || index >= rows.length) return;
    setFocused(index);
    handle.current?.scrollToIndex(index);
    requestAnimationFrame(() => {
      const row = handle.current?.element()?.querySelector(`[data-index="${index}"]`);
      if (row instanceof HTMLElement) row.focus({ preventScroll: true });
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[focused];
    if (!row || event.target !== event.currentTarget) return; // a button in the row has its own keys
    const steps: Readonly<Record<string, () => void>> = {
      ArrowDown: () => focus(focused + 1),
      ArrowUp: () => focus(focused - 1),
      Home: () => focus(0),
      End: () => focus(rows.length - 1),
      ArrowRight: () => (row.size && !row.isOpen ? turn(row) : focus(focused + 1)),
      ArrowLeft: () =>
        row.isOpen ? turn(row) : focus(rows.findLastIndex((other, i) => i < focused && other.depth < row.depth)),
      Enter: () => row.size && turn(row),
      y: () => void copyText(row.path, 'Path copied'),
    };
    const step = moveOf(steps, event);
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    step();
  };
  return (
    <VirtualList
      class="json-rows mono"
      role="tree"
      label={label}
      count={rows.length}
      rowKey={(index) => rows[index]?.path ?? index}
      estimate={() => ROW_PX}
      focusedIndex={focused}
      handle={handle}
      rowAttributes={(index) =>
        attributesOf(rows[index], index === focused, {
          onKeyDown,
          onFocus: () => setFocused(index),
          onClick: () => {
            const row = rows[index];
            if (row?.size && getSelection()?.isCollapsed !== false) turn(row);
          },
        })
      }
      renderRow={(index) => {
        const row = rows[index];
        return row && <Row row={row} />;
      }}
    />
  );
}

type Handlers = { onKeyDown: (event: KeyboardEvent) => void; onFocus: () => void; onClick: () => void };

const attributesOf = (row: JsonRow | undefined, isFocused: boolean, handlers: Handlers) => ({
  ...handlers,
  tabIndex: isFocused ? 0 : -1,
  'aria-level': (row?.depth ?? 0) + 1,
  ...(row?.size ? { 'aria-expanded': row.isOpen } : {}),
  title: row?.path.slice(0, 500) || '(whole)',
});

function Row({ row: { depth, key, type, value, size, isOpen } }: { row: JsonRow }) {
  const isLong = typeof value === 'string' && value.length > LONGEST_VALUE;
  const [isWhole, setWhole] = useState(false);
  const text =
    typeof value === 'string'
      ? JSON.stringify(isLong && !isWhole ? value.slice(0, LONGEST_VALUE) : value)
      : String(value);
  return (
    <div class="json-row" style={{ paddingInlineStart: `${Math.min(depth, 40) * 16}px` }}>
      <span class="json-fold" aria-hidden="true">
        {size ? (isOpen ? '▾' : '▸') : ''}
      </span>
      {key !== '' && (
        <span class="look-attribute">
          <Visible text={key} />
          {type === 'more' ? '' : ': '}
        </span>
      )}
      {size !== null ? (
        <span class="muted">{type === 'array' ? `[ ${size} ]` : `{ ${size} }`}</span>
      ) : (
        type !== 'more' && (
          <span class={type === 'string' ? 'look-string' : 'look-number'}>
            <Visible text={text} />
          </span>
        )
      )}
      {isLong && !isWhole && (
        <button
          type="button"
          onClick={(event) => {
            event.stopPropagation();
            event.currentTarget.closest<HTMLElement>('[tabindex]:not(button)')?.focus(); // the button goes
            setWhole(true);
          }}
        >
          all {grouped(value.length)} characters
        </button>
      )}
    </div>
  );
}
