/** Reciprocal rank fusion of two rankings. (Cormack, Clarke and Büttcher, SIGIR 2009.) */

/** How little the first ranks of a ranking stand out: the value of the paper. */
const K = 60;

export type Ranks = { text?: number; vector?: number };

/**
 * The keys by the sum of `weight / (60 + rank)` over the rankings that have them. Of equal sums that of the text comes first.
 * @param text `weight` from 0 to 1: how much of the query it has. Else what shares a frequent word with a query would
 * push aside what means the same in other words.
 * @example
 * const text = ['a', 'b'].map((key) => ({ key, weight: 1 }));
 * fused(text, ['b', 'c']).map(({ key }) => key); // => ['b', 'a', 'c']
 */
export function fused(
  text: readonly { key: string; weight: number }[],
  vector: readonly string[],
): { key: string; score: number; ranks: Ranks }[] {
  const all = new Map<string, { score: number; ranks: Ranks }>();
  const add = (key: string, half: keyof Ranks, rank: number, weight: number) => {
    const { score = 0, ranks = {} } = all.get(key) ?? {};
    all.set(key, { score: score + weight / (K + rank), ranks: { ...ranks, [half]: rank } });
  };
  for (const [i, { key, weight }] of text.entries()) add(key, 'text', i + 1, weight);
  for (const [i, key] of vector.entries()) add(key, 'vector', i + 1, 1);
  return [...all].map(([key, one]) => ({ key, ...one })).sort((one, other) => other.score - one.score); // stable: those of the text were added first
}
