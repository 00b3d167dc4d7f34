/** A list whose rows all have one height, so that any number of them costs no more than those in view. */
import type { ComponentChildren, MutableRef } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import './fixed-rows.css';

export type FixedRowsHandle = { reveal: (index: number, align?: 'nearest' | 'center') => void; focus: () => void };

type FixedRowsProps = {
  count: number;
  height: number; // of a row, in pixels
  label: string;
  role: 'tree' | 'listbox' | 'list';
  rowKey: (index: number) => string | number;
  /** @param id to be set on the element with the role of a row */
  row: (index: number, id: string) => ComponentChildren;
  active?: number; // the row on which keys work: it stays in the document; -1: none
  onKeyDown?: (event: KeyboardEvent) => void;
  handle?: MutableRef<FixedRowsHandle | null>;
};

const BEYOND = 5; // rows above and below the view

export function FixedRows({ count, height, label, role, rowKey, row, active = -1, onKeyDown, handle }: FixedRowsProps) {
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
      focus: () => box.current?.focus({ preventScroll: true }),
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
  return (
    <div
      ref={box}
      class="fixed-rows"
      role={role}
      aria-label={label}
      aria-activedescendant={active >= 0 && active < count ? `${id}-${active}` : undefined}
      tabIndex={0}
      onScroll={measure}
      onKeyDown={onKeyDown}
    >
      <div class="fixed-rows-sheet" role="presentation" style={{ height: `${count * height}px` }}>
        {shown.map((index) => (
          <div
            key={rowKey(index)}
            class="fixed-row"
            role="presentation"
            style={{ transform: `translateY(${index * height}px)`, height: `${height}px` }}
          >
            {row(index, `${id}-${index}`)}
          </div>
        ))}
      </div>
    </div>
  );
}
