/** The shape of a session: how the input of its calls grew and shrank, in a few numbers however many calls there were. */

/** `bins`: the largest value of each `each` calls, in order; the last may hold fewer. `calls`: counted so far. */
export type Shape = { each: number; calls: number; bins: number[] };

export const noShape: Shape = { each: 1, calls: 0, bins: [] };

const MOST = 32;

/** The shape with one more call. Once there are too many bins, each two become one, so the result depends on the calls alone. */
export function shapeWith({ each, calls, bins }: Shape, value: number): Shape {
  if (calls % each !== 0) return { each, calls: calls + 1, bins: bins.with(-1, Math.max(bins.at(-1) ?? 0, value)) };
  if (bins.length < MOST) return { each, calls: calls + 1, bins: [...bins, value] };
  return { each: 2 * each, calls: calls + 1, bins: [...halved(bins), value] };
}

const halved = (bins: readonly number[]): number[] =>
  Array.from({ length: bins.length / 2 }, (_, i) => Math.max(bins[2 * i] ?? 0, bins[2 * i + 1] ?? 0));
