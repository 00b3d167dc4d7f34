/** A list of which only the rows in view are in the document. */
import {
  elementScroll,
  measureElement,
  observeElementOffset,
  observeElementRect,
  type Range,
  Virtualizer,
} from '@tanstack/virtual-core';
import type { ComponentChildren, HTMLAttributes, RefObject } from 'preact';
import { useLayoutEffect, useReducer, useRef } from 'preact/hooks';
import { rowsToRender } from './rows-to-render.ts';
import './virtual-list.css';

export type VirtualListHandle = {
  scrollToIndex(index: number, options?: { align?: 'start' | 'center' | 'end' | 'auto' }): void;
  scrollToEnd(): void;
  isAtEnd(): boolean;
  /** The rows in view; null: none. */
  range(): { first: number; last: number } | null;
  /** The element that scrolls. */
  element(): HTMLElement | null;
};

type RowAttributes = Omit<HTMLAttributes<HTMLDivElement>, 'ref' | 'style' | 'children'> & {
  [data: `data-${string}`]: string | number | undefined;
};

type VirtualListProps = {
  count: number;
  /** What a row is known by when others come before it: an id, never its place. Another function: all places are worked out anew. */
  rowKey: (index: number) => string | number;
  /** Its height in pixels until it is measured. */
  estimate: (index: number) => number;
  renderRow: (index: number) => ComponentChildren;
  /** Attributes of the row's own element. */
  rowAttributes?: (index: number) => RowAttributes;
  onRange?: (first: number, last: number) => void;
  /** New rows at the end are followed by whoever reads the end. */
  followEnd?: boolean;
  /** What is looked at stays where it is when rows come before it. */
  keepsPlace?: boolean;
  /** This row stays in the document wherever the view is. */
  focusedIndex?: number | undefined;
  label: string;
  role?: 'list' | 'tree' | 'listbox';
  /** The whole count where not all is loaded; -1: not known. */
  setSize?: number;
  overscan?: number;
  handle?: RefObject<VirtualListHandle | null>;
  class?: string;
};

const ROW_ROLES = { list: 'listitem', tree: 'treeitem', listbox: 'option' } as const;
const AT_END_PX = 60;

export function VirtualList(props: VirtualListProps) {
  const { count, rowKey, estimate, renderRow, rowAttributes, label, role = 'list', setSize = count } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [, update] = useReducer<number, undefined>((renders) => renders + 1, 0);
  const instance = useRef<Virtualizer<HTMLDivElement, HTMLDivElement> | null>(null);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: estimate,
    getItemKey: rowKey,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    measureElement,
    overscan: props.overscan ?? 6,
    rangeExtractor: (range: Range) => rowsToRender(range, latest.current.focusedIndex),
    anchorTo: props.followEnd || props.keepsPlace ? ('end' as const) : ('start' as const),
    followOnAppend: props.followEnd ?? false,
    scrollEndThreshold: AT_END_PX,
    onChange: () => update(undefined),
  };
  instance.current ??= new Virtualizer<HTMLDivElement, HTMLDivElement>(options);
  const virtualizer = instance.current;
  virtualizer.setOptions(options);
  // a row that is partly in view grows downwards: only what is wholly above may move the view
  virtualizer.shouldAdjustScrollPositionOnItemSizeChange = ({ end }) => end <= (virtualizer.scrollOffset ?? 0);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  useLayoutEffect(() => {
    if (props.handle) props.handle.current = handleOf(virtualizer, scroller);
  }, [props.handle]);

  const { startIndex, endIndex } = virtualizer.calculateRange() ?? { startIndex: -1, endIndex: -1 };
  useLayoutEffect(() => {
    if (startIndex >= 0) latest.current.onRange?.(startIndex, endIndex);
  }, [startIndex, endIndex, count]);

  return (
    <div
      class={`virtual-list ${props.class ?? ''}`}
      ref={scroller}
      tabIndex={props.focusedIndex === undefined ? 0 : undefined}
    >
      {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: each of the roles supports it */}
      <div role={role} aria-label={label} class="virtual-rows" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {virtualizer.getVirtualItems().map(({ index, key, start }) => {
          const attributes = rowAttributes?.(index);
          return (
            // biome-ignore lint/a11y/useAriaPropsSupportedByRole: each of the roles supports them
            <div
              {...attributes}
              key={key}
              ref={virtualizer.measureElement}
              data-index={index}
              role={ROW_ROLES[role]}
              aria-setsize={setSize}
              aria-posinset={index + 1}
              class={`virtual-row ${attributes?.class ?? ''}`}
              style={{ transform: `translateY(${start}px)` }}
            >
              {renderRow(index)}
            </div>
          );
        })}
      </div>
    </div>
  );
}

const handleOf = (
  virtualizer: Virtualizer<HTMLDivElement, HTMLDivElement>,
  scroller: RefObject<HTMLDivElement | null>,
): VirtualListHandle => ({
  scrollToIndex: (index, { align = 'auto' } = {}) => virtualizer.scrollToIndex(index, { align }),
  scrollToEnd: () => virtualizer.scrollToEnd(),
  isAtEnd: () => virtualizer.isAtEnd(AT_END_PX),
  range: () => {
    const range = virtualizer.calculateRange();
    return range && { first: range.startIndex, last: range.endIndex };
  },
  element: () => scroller.current,
});
