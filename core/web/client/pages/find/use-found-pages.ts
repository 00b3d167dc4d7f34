/** What the service found, a page at a time. Whoever comes back to the page sees it as far as it was read. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { FindHit, FindPage } from '../../../../model/find.ts';
import { findText } from '../../api/find.ts';
import { isAbort } from '../../api/request.ts';

export type FoundPages = {
  query: string; // that they belong to
  items: FindHit[];
  last: FindPage;
};

const LIMIT = '30';
const STAYS_MS = 600_000;

let read: { pages: FoundPages; at: number } | null = null;

const stored = (query: string): FoundPages | null =>
  read?.pages.query === query && performance.now() - read.at < STAYS_MS ? read.pages : null;

/** @param query of /v1/find; '' looks for nothing */
export function useFoundPages(query: string) {
  const [pages, setPages] = useState<FoundPages | null>(() => stored(query));
  const [error, setError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const [isReading, setReading] = useState(false);
  const running = useRef<AbortController | null>(null);

  const readPage = (before: FoundPages | null) => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    const cursor = before?.last.next_cursor;
    setReading(true);
    setError(null);
    findText(
      new URLSearchParams(`${query}&limit=${LIMIT}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`),
      controller.signal,
    ).then(
      (last) => {
        const next = { query, items: [...(before?.items ?? []), ...last.items], last };
        read = { pages: next, at: performance.now() };
        setPages(next);
        setReading(false);
      },
      (thrown) => {
        if (isAbort(thrown)) return;
        setError(thrown);
        setReading(false);
      },
    );
  };
  useEffect(() => {
    const known = attempt === 0 ? stored(query) : null;
    setError(null);
    setReading(false);
    if (known) setPages(known);
    else if (query !== '') readPage(null);
    return () => running.current?.abort();
  }, [query, attempt]);
  return {
    ...{ pages, error, isReading },
    more: () => {
      if (pages && !isReading) readPage(pages);
    },
    again: () => setAttempt(attempt + 1),
  };
}
