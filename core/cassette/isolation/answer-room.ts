/** How much may answers hold that a cassette's process has not taken yet? What runs is counted in advance: nobody knows what it will give. */
import { leftBehind } from '../../collect-garbage.ts';

export type AnswerRoom = {
  /** When there is some for another statement. */
  reserve(): Promise<Reserved>;
};

export type Reserved = {
  /** It has given this, which is held until it is freed. */
  holds(texts: readonly string[]): void;
  free(): void;
};

/** Characters. */
const MOST = 64 * 1024 * 1024;
/** Of a statement that runs, whose answer may be as large as all of it. */
const IN_ADVANCE = 32 * 1024 * 1024;

/** Of large statements and answers that are over. Each time the loop stands still for some 40 ms. */
export const leave = leftBehind({ large: 1024 * 1024, enough: 32 * 1024 * 1024, afterMs: 2_000 });

export function openAnswerRoom(): AnswerRoom {
  let taken = 0;
  let waiting: (() => void)[] = [];
  const wake = () => {
    const woken = waiting;
    waiting = [];
    for (const one of woken) one();
  };

  return {
    async reserve() {
      while (taken + IN_ADVANCE > MOST) await new Promise<void>((resolve) => waiting.push(resolve));
      let own = IN_ADVANCE;
      taken += own;
      const becomes = (chars: number) => {
        taken += chars - own;
        own = chars;
        wake();
      };
      let held = 0;
      return {
        holds(texts) {
          held = texts.reduce((sum, text) => sum + text.length, 0);
          becomes(held);
        },
        free() {
          becomes(0);
          if (held > 0) leave(held);
          held = 0;
        },
      };
    },
  };
}
