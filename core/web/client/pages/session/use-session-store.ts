/** The store of the session on screen: opened when its page is, closed when the page is left for another. */
import { useEffect, useMemo } from 'preact/hooks';
import { readSessionCache } from '../../api/cache.ts';
import { findInSession } from '../../api/find.ts';
import { readOutline } from '../../api/outline.ts';
import { readSession } from '../../api/sessions.ts';
import { readSpan, readSpans } from '../../api/spans.ts';
import { onEvent } from '../../store/live.ts';
import { type FirstPlace, type SessionStore, sessionStore } from './session-store.ts';

let open: { store: SessionStore; users: number } | null = null;

/** @param place what is shown first of a long session; null: all of it is needed */
export function useSessionStore(id: string, place: FirstPlace | null): SessionStore {
  const store = useMemo(() => storeOf(id, place), [id]);
  useEffect(() => {
    const own = open?.store === store ? open : null;
    if (own) own.users++;
    return () => {
      if (own) own.users--;
      setTimeout(() => {
        if (own && own.users === 0 && open === own) closeOpen(); // another lens may have taken it over meanwhile
      });
    };
  }, [store]);
  return store;
}

function storeOf(id: string, place: FirstPlace | null): SessionStore {
  if (open?.store.id === id) return open.store;
  closeOpen();
  const reads = {
    session: readSession,
    outline: readOutline,
    window: (trace_id: string, from_seq: number, limit: number, signal: AbortSignal) =>
      readSpans(trace_id, { from_seq, limit, signal }),
    whole: readSpan,
    find: findInSession,
    cache: readSessionCache,
    onEvent,
  };
  const store = sessionStore(id, reads, place);
  open = { store, users: 0 };
  return store;
}

function closeOpen(): void {
  open?.store.close();
  open = null;
}
