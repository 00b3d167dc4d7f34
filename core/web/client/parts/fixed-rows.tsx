/** A list whose rows all have one height, so that any number of them costs no more than those in view. */
import type { ComponentChildren, HTMLAttributes, RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
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
  const [range, setRange] = useState({ first: 0, end: 40 });
  const measure = () => {
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    const first = Math.max(0, Math.floor(scrollTop / height) - BEYOND);
    const end = Math.ceil((scrollTop + clientHeight) / height) + BEYOND;
    setRange((before) => (before.first === first && before.end === end ? before : { first, end }));
  };
  useLayoutEffect(measure, [count, height]);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
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
        if (align === 'center') element.scrollTop = top - (clientHeight - height) / 2;
        else if (top < scrollTop) element.scrollTop = top;
        else if (top + height > scrollTop + clientHeight) element.scrollTop = top + height - clientHeight;
      },
    };
  const shown: number[] = [];
  for (let index = range.first; index < Math.min(count, range.end); index++) shown.push(index);
  if (active >= 0 && active < count && !shown.includes(active)) shown.push(active);
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
      <div class="fixed-rows-sheet" role="presentation" style={{ height: `${count * height}px` }}>
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
              style={{ transform: `translateY(${index * height}px)`, height: `${height}px` }}
            >
              {renderRow(index)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
