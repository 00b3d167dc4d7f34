/** Reciprocal rank fusion of two rankings. (Cormack, Clarke and Büttcher, SIGIR 2009.) */

/** How little the first ranks of a ranking stand out: the value of the paper. */
const K = 60;

export type Ranks = { text?: number; vector?: number };

/**
 * The keys by the sum of `1 / (60 + rank)` over the rankings that have them. Of equal sums that of the text comes first.
 * @example
 * fused(['a', 'b'], ['b', 'c']).map(({ key }) => key); // => ['b', 'a', 'c']
 */
export function fused(
  text: readonly string[],
  vector: readonly string[],
): { key: string; score: number; ranks: Ranks }[] {
  const all = new Map<string, Ranks>();
  text.forEach((key, i) => {
    all.set(key, { text: i + 1 });
  });
  vector.forEach((key, i) => {
    all.set(key, { ...all.get(key), vector: i + 1 });
  });
  return [...all]
    .map(([key, ranks]) => ({ key, ranks, score: part(ranks.text) + part(ranks.vector) }))
    .sort((one, other) => other.score - one.score); // stable: those of the text were added first
}

const part = (rank: number | undefined): number => (rank === undefined ? 0 : 1 / (K + rank));
