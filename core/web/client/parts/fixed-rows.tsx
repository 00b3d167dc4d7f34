/** A list whose rows all have one height, so that any number of them costs no more than those in view. */
import type { ComponentChildren, HTMLAttributes, RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { sheetHeight, shiftAfter, shiftAt } from './sheet-scroll.ts';
import './fixed-rows.css';

export type FixedRowsHandle = {
  reveal: (index: number, align?: 'nearest' | 'center') => void;
  /** Puts the focus on the link of a row, once it is there. */
  focusLink: (index: number) => void;
};

type RowAttributes = Omit<HTMLAttributes<HTMLDivElement>, 'ref' | 'style' | 'children' | 'id'> & {
  [data: `data-${string}`]: string | number | undefined;
};

type FixedRowsProps = {
  count: number;
  height: number; // of a row, in pixels
  label: string;
  role: 'tree' | 'listbox' | 'list';
  rowKey: (index: number) => string | number;
  renderRow: (index: number) => ComponentChildren;
  /** Attributes of the row's own element; what is pressed is handled here, keys on the list, which has the focus. */
  rowAttributes?: (index: number) => RowAttributes;
  active?: number; // the row on which keys work: it stays in the document; -1: none
  onKeyDown?: (event: KeyboardEvent) => void;
  handle?: RefObject<FixedRowsHandle | null>;
};

const ROW_ROLES = { list: 'listitem', tree: 'treeitem', listbox: 'option' } as const;
const BEYOND = 5; // rows above and below the view

export function FixedRows(props: FixedRowsProps) {
  const { count, height, role, rowKey, renderRow, rowAttributes, active = -1, handle } = props;
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const [range, setRange] = useState({ first: 0, end: 40, shift: 0 });
  const place = useRef([Number.NaN, 0] as [top: number, shift: number]);
  const total = count * height;
  const measure = () => {
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    const [before, shiftBefore] = place.current;
    const shift = shiftAfter(shiftBefore, scrollTop - before, scrollTop, clientHeight, total);
    place.current = [scrollTop, shift];
    const top = scrollTop + shift;
    const first = Math.max(0, Math.floor(top / height) - BEYOND);
    const end = Math.ceil((top + clientHeight) / height) + BEYOND;
    setRange((before) =>
      before.first === first && before.end === end && before.shift === shift ? before : { first, end, shift },
    );
  };
  useLayoutEffect(() => {
    place.current[0] = Number.NaN;
    measure();
  }, [count, height]);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, [total]);
  if (handle)
    handle.current = {
      focusLink: (index) => {
        requestAnimationFrame(() => {
          const link = document.getElementById(`${id}-${index}`)?.querySelector('a');
          link?.focus({ preventScroll: true });
        });
      },
      reveal: (index, align = 'nearest') => {
        const element = box.current;
        if (!element || index < 0) return;
        const top = index * height;
        const { scrollTop, clientHeight } = element;
        const lowest = top + height - clientHeight;
        const from = scrollTop + place.current[1];
        const to = align === 'center' ? (top + lowest) / 2 : Math.max(lowest, Math.min(from, top));
        if (to === from) return;
        const shift = shiftAt(to, total, clientHeight, total);
        place.current = [to - shift, shift];
        element.scrollTop = to - shift;
        measure(); // the shift may be another at the same scroll position, which is no event
      },
    };
  const shown: number[] = [];
  for (let index = range.first; index < Math.min(count, range.end); index++) shown.push(index);
  if (active >= 0 && active < count && !shown.includes(active)) shown.push(active);
  const sheet = sheetHeight(total);
  const rowTop = (index: number) => Math.min(index * height - range.shift, sheet - height); // the active one may be far below
  const list = {
    role,
    'aria-label': props.label,
    // in a list the focus is on what a row holds, or on the list itself, which scrolls
    'aria-activedescendant': role !== 'list' && active >= 0 && active < count ? `${id}-${active}` : undefined,
    tabIndex: 0,
    onScroll: measure,
    onKeyDown: props.onKeyDown,
  };
  return (
    <div ref={box} class="fixed-rows" {...list}>
      <div class="fixed-rows-sheet" role="presentation" style={{ height: `${sheet}px` }}>
        {shown.map((index) => {
          const attributes: RowAttributes = {
            'aria-setsize': count,
            'aria-posinset': index + 1,
            ...rowAttributes?.(index),
          };
          return (
            <div
              role={ROW_ROLES[role]}
              {...attributes}
              key={rowKey(index)}
              id={`${id}-${index}`}
              class={`fixed-row ${attributes.class ?? ''}`}
              style={{ transform: `translateY(${rowTop(index)}px)`, height: `${height}px` }}
            >
              {renderRow(index)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
