/** What the database thread is running right now, in shared memory: a statement blocks its thread, so no message would get through. */

/** As the database thread writes it. */
export type Gauge = { begin(operation: string, limitMs: number): void; end(): void };

/** As its host reads it. */
export type ReadableGauge = Gauge & { running(): MeasuredOperation | undefined };

/** `began` names it; `ms`: time since its start. */
export type MeasuredOperation = { operation: string; began: number; ms: number; limitMs: number };

const NAME_AT = 16;
const NAME_BYTES = 64;

export const gaugeMemory = () => new SharedArrayBuffer(NAME_AT + NAME_BYTES);

/** Milliseconds of a clock that all threads of a process share, and that nobody sets. */
const now = (): number => Number(process.hrtime.bigint() / 1_000_000n);

export function openGauge(memory: SharedArrayBuffer): ReadableGauge {
  const numbers = new BigInt64Array(memory, 0, 2); // start time (0: idle) and limit
  const name = Buffer.from(memory, NAME_AT, NAME_BYTES);
  return {
    begin(operation, limitMs) {
      name.fill(0);
      name.write(operation);
      Atomics.store(numbers, 1, BigInt(limitMs));
      Atomics.store(numbers, 0, BigInt(now()));
    },
    end: () => void Atomics.store(numbers, 0, 0n),
    running() {
      const began = Number(Atomics.load(numbers, 0));
      if (began === 0) return undefined;
      const operation = name.toString('utf8').replace(/\0+$/, '');
      return { operation, began, ms: now() - began, limitMs: Number(Atomics.load(numbers, 1)) };
    },
  };
}
