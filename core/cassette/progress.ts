/** Parses the progress that a cassette reports: only exact whole numbers are accepted. Twin of child/progress.mjs. */
import type { Progress } from './contract.ts';

/** null: it is no valid progress. */
export function progressOf(input: unknown): Progress | null {
  const { done, pending, failed } = (input ?? {}) as Partial<Record<keyof Progress, unknown>>;
  return isCount(done) && isCount(pending) && isCount(failed) ? { done, pending, failed } : null;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

export const NO_PROGRESS = 'Cannot tell its progress: done, pending and failed must be whole numbers from 0 on';
