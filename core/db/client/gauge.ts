/** What is the database thread doing right now? Memory that both threads see: a statement blocks its thread, so it cannot be asked. */

export type Gauge = { begin(question: string, limitMs: number): void; end(): void };

/** `ms`: since it began. */
export type RunningOperation = { question: string; ms: number; limitMs: number };

const NAME_AT = 16;
const NAME_BYTES = 64;

export const gaugeMemory = () => new SharedArrayBuffer(NAME_AT + NAME_BYTES);

/** @param now milliseconds since the epoch, the same in both threads */
export function openGauge(
  memory: SharedArrayBuffer,
  now: () => number,
): Gauge & { running(): RunningOperation | undefined } {
  const numbers = new BigInt64Array(memory, 0, 2); // when it began (0: idle) and its limit
  const name = Buffer.from(memory, NAME_AT, NAME_BYTES);
  return {
    begin(question, limitMs) {
      name.fill(0);
      name.write(question);
      Atomics.store(numbers, 1, BigInt(limitMs));
      Atomics.store(numbers, 0, BigInt(Math.trunc(now())));
    },
    end: () => void Atomics.store(numbers, 0, 0n),
    running() {
      const began = Number(Atomics.load(numbers, 0));
      if (began === 0) return undefined;
      const question = name.toString('utf8').replace(/\0+$/, '');
      return { question, ms: now() - began, limitMs: Number(Atomics.load(numbers, 1)) };
    },
  };
}
