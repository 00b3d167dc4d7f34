/** A read for a page: its answer, its failure, and another attempt. A read that is no longer wanted is given up. */
import { useEffect, useState } from 'preact/hooks';
import { isAbort } from '../api/request.ts';
import type { PageState } from '../parts/page.tsx';

export type RequestState<T> = {
  /** The last answer, which stays while the next one comes; null: none came yet. */
  answer: T | null;
  /** null: the last attempt did not fail, or it read what was wanted before. */
  error: unknown;
  /** What the answer that is shown belongs to; null: none is. */
  key: string | null;
  retry: () => void;
};

/** `failed` is the key of the read that failed. */
type Kept<T> = Omit<RequestState<T>, 'retry'> & { failed: string | null };

/** @param key what is read: another key reads again */
export function useReading<T>(key: string, read: (signal: AbortSignal) => Promise<T>): RequestState<T> {
  const [state, setState] = useState<Kept<T>>({ answer: null, error: null, key: null, failed: null });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const reading = new AbortController();
    setState((before) => ({ ...before, failed: null })); // also where this key's failure was shown before
    read(reading.signal).then(
      (answer) => setState({ answer, error: null, key, failed: null }),
      (error) => {
        if (!isAbort(error)) setState((before) => ({ ...before, error, failed: key }));
      },
    );
    return () => reading.abort();
  }, [key, attempt]); // `read` is another function at each render, and means the same for the same key
  return {
    ...{ answer: state.answer, key: state.key },
    error: state.failed === key ? state.error : null,
    retry: () => setAttempt(attempt + 1),
  };
}

/** @param isEmpty of the answer */
export function pageState<T>(
  { answer, error }: RequestState<T>,
  isEmpty: (answer: T) => boolean = () => false,
): PageState {
  if (answer === null) return error === null ? 'loading' : 'error';
  return isEmpty(answer) ? 'empty' : 'ready';
}
