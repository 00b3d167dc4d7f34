/** Can what a cassette tells of its progress be believed? Only whole numbers that are exact; twin of child/progress.mjs. */
import type { Progress } from './contract.ts';

/** null: it is none. */
export function progressOf(told: unknown): Progress | null {
  const { done, pending, failed } = (told ?? {}) as Partial<Record<keyof Progress, unknown>>;
  return isCount(done) && isCount(pending) && isCount(failed) ? { done, pending, failed } : null;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

export const NO_PROGRESS = 'Cannot tell its progress: done, pending and failed must be whole numbers from 0 on';
