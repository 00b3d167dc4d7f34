/** Memory limit for database results that a cassette's process has not read yet. A running statement counts at the largest size that its
 *  result may have, since nobody knows the size in advance. */
import { collectAfterLarge } from '../../collect-garbage.ts';

export type ResultBudget = {
  /** Settles when there is room for another statement. */
  reserve(): Promise<Reserved>;
};

export type Reserved = {
  /** Counts this result instead of the reservation, until it is freed. */
  holds(texts: readonly string[]): void;
  free(): void;
};

/** Limit for all results together, in characters. */
const MOST = 64 * 1024 * 1024;
/** Characters reserved for a running statement: the most that its result may have. */
const IN_ADVANCE = 32 * 1024 * 1024;

/** Collects the garbage of large statements and results that are over. Each time it blocks the event loop for some 40 ms. */
export const collectAfter = collectAfterLarge({ large: 1024 * 1024, enough: 32 * 1024 * 1024, afterMs: 2_000 });

export function openResultBudget(): ResultBudget {
  let usedChars = 0;
  let waiting: (() => void)[] = [];
  const wake = () => {
    const woken = waiting;
    waiting = [];
    for (const resume of woken) resume();
  };

  return {
    async reserve() {
      while (usedChars + IN_ADVANCE > MOST) await new Promise<void>((resolve) => waiting.push(resolve));
      let reservedChars = IN_ADVANCE;
      usedChars += reservedChars;
      const resize = (chars: number) => {
        usedChars += chars - reservedChars;
        reservedChars = chars;
        wake();
      };
      let heldChars = 0;
      return {
        holds(texts) {
          heldChars = texts.reduce((sum, text) => sum + text.length, 0);
          resize(heldChars);
        },
        free() {
          resize(0);
          if (heldChars > 0) collectAfter(heldChars);
          heldChars = 0;
        },
      };
    },
  };
}
