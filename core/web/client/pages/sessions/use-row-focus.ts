/** The row of the list that has the focus, by its session: it stays with it when rows come and go. */
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Session } from '../../../../model/session.ts';
import type { VirtualListHandle } from '../../parts/virtual-list.tsx';

export type RowFocus = {
  /** -1: no row has it. */
  index: number;
  id: string | null;
  /** Moves the focus there, and the view along. */
  move: (index: number, align?: 'auto' | 'center') => void;
  /** The browser has put it there. */
  note: (id: string) => void;
  /** The neighbour takes over before a row goes. */
  leave: (id: string) => void;
};

export function useRowFocus(items: readonly Session[], list: RefObject<VirtualListHandle | null>): RowFocus {
  const [id, setId] = useState<string | null>(null);
  const wanted = useRef<{ id: string; align: 'auto' | 'center' } | null>(null);
  const index = id === null ? -1 : items.findIndex((session) => session.id === id);
  useLayoutEffect(() => {
    const target = wanted.current;
    if (target === null || target.id !== id || index === -1) return;
    wanted.current = null;
    list.current?.scrollToIndex(index, { align: target.align });
    list.current?.element()?.querySelector<HTMLElement>(`[data-session="${target.id}"] .session-title`)?.focus({
      preventScroll: true, // the list has scrolled as far as is needed
    });
  });
  const move = (to: number, align: 'auto' | 'center' = 'auto') => {
    const session = items[to];
    if (!session) return;
    wanted.current = { id: session.id, align };
    setId(session.id);
    if (session.id === id) list.current?.scrollToIndex(to, { align });
  };
  return {
    index,
    id,
    move,
    note: setId,
    leave: (gone) => {
      const at = items.findIndex((session) => session.id === gone);
      const neighbour = items[at + 1] ?? items[at - 1];
      wanted.current = neighbour ? { id: neighbour.id, align: 'auto' } : null;
      setId(neighbour?.id ?? null);
    },
  };
}
