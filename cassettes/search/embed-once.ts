/** An embedder that embeds texts once that are alike word for word: the vectors of the last ones serve for the next. */
import { createHash } from 'node:crypto';
import type { Embedder } from './embedder.ts';

/** 4 MB of vectors: 1,300 of 384 dimensions. */
const MOST_NUMBERS = 500_000;
/** A vector tells much of its text, which may be purged meanwhile: after this time all are forgotten. */
const KEPT_MS = 60_000;

type Options = { mostNumbers?: number; now?: () => number };

/** @returns the same embedder with a memory of its own, which is in no database */
export function embedsOnce(embedder: Embedder, { mostNumbers = MOST_NUMBERS, now = Date.now }: Options = {}): Embedder {
  const vectors = new Map<string, number[]>(); // by the hash of the text, the one that served last at the end
  let numbers = 0;
  let since = now();

  const remember = (key: string, vector: number[]): void => {
    vectors.set(key, vector);
    numbers += vector.length;
    for (const [oldest, { length }] of vectors) {
      if (numbers <= mostNumbers) return;
      vectors.delete(oldest);
      numbers -= length;
    }
  };
  const recall = (key: string): number[] | undefined => {
    const vector = vectors.get(key);
    if (!vector) return undefined;
    vectors.delete(key);
    vectors.set(key, vector);
    return vector;
  };
  const forgetOld = (): void => {
    if (now() - since < KEPT_MS) return;
    vectors.clear();
    numbers = 0;
    since = now();
  };
  return {
    ...embedder,
    async embed(texts, options) {
      forgetOld();
      const found = new Map<string, number[]>(); // by the text
      const unknown = new Set<string>();
      for (const text of texts) {
        const vector = recall(keyOf(text));
        if (vector) found.set(text, vector);
        else unknown.add(text);
      }
      const made = unknown.size === 0 ? [] : await embedder.embed([...unknown], options);
      for (const [at, text] of [...unknown].entries()) {
        const vector = made[at] ?? [];
        found.set(text, vector);
        remember(keyOf(text), vector);
      }
      return texts.map((text) => found.get(text) ?? []);
    },
  };
}

const keyOf = (text: string) => createHash('sha256').update(text).digest('base64');
