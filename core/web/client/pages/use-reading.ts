/** A read for a page: its answer, its failure, and another attempt. A read that is no longer wanted is given up. */
import { useLayoutEffect, useState } from 'preact/hooks';
import type { PageState } from '../parts/page.tsx';

export type RequestState<T> = {
  /** The last answer, which stays while the next one comes; null: none came yet. */
  answer: T | null;
  /** null: the last attempt has not failed. */
  error: unknown;
  /** What the answer that is shown belongs to; null: none is. */
  key: string | null;
  retry: () => void;
};

/** @param key what is read: another key reads again */
export function useReading<T>(key: string, read: (signal: AbortSignal) => Promise<T>): RequestState<T> {
  const [state, setState] = useState<Omit<RequestState<T>, 'retry'>>({ answer: null, error: null, key: null });
  const [attempt, setAttempt] = useState(0);
  useLayoutEffect(() => {
    const reading = new AbortController();
    setState((before) => ({ ...before, error: null })); // before anybody sees it: the failure was another read's
    read(reading.signal).then(
      (answer) => setState({ answer, error: null, key }),
      (error) => {
        if (!reading.signal.aborted) setState((before) => ({ ...before, error }));
      },
    );
    return () => reading.abort();
  }, [key, attempt]); // `read` is another function at each render, and means the same for the same key
  return { ...state, retry: () => setAttempt(attempt + 1) };
}

/** @param isEmpty of the answer */
export function pageState<T>(
  { answer, error }: RequestState<T>,
  isEmpty: (answer: T) => boolean = () => false,
): PageState {
  if (answer === null) return error === null ? 'loading' : 'error';
  return isEmpty(answer) ? 'empty' : 'ready';
}
