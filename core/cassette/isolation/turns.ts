/** How many may do a thing at once? The others wait for their turn, in the order in which they came. */

export type Turns = { take(): Promise<void>; leave(): void };

export function openTurns(atOnce: number): Turns {
  let free = atOnce;
  const waiting: (() => void)[] = [];
  return {
    async take() {
      if (free === 0) return new Promise((resolve) => waiting.push(resolve));
      free -= 1;
    },
    leave() {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    },
  };
}
