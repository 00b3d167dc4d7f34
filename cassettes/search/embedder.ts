/** The interface of embedders, which turn texts into vectors, and the ways in which that can fail. */

export type Embedder = {
  /** Provider and model, stored beside every vector: only vectors of one name are compared. */
  model: string;
  /** The longest text that goes into one vector, in UTF-16 units of Latin text; of other scripts it is less (`chunksOf`). */
  chunkLength: number;
  /** How many texts go into one call. */
  batch: number;
  /** A vector for each text, in their order. @throws {NoEmbedder | EmbeddingFailed} */
  embed(texts: readonly string[], options?: EmbedOptions): Promise<number[][]>;
};

/** `urgent`: a client waits for it. */
export type EmbedOptions = { urgent?: boolean; signal?: AbortSignal };

/** There is no embedder, and waiting does not help: weights, a key or a folder are missing. */
export class NoEmbedder extends Error {
  override readonly name = 'NoEmbedder';
}

/**
 * `text`: this text cannot be embedded, now or later. `answer`: the embedder failed over this call. `away`: it could not be
 * reached, or refuses all calls for now.
 */
export class EmbeddingFailed extends Error {
  override readonly name = 'EmbeddingFailed';
  readonly kind: 'text' | 'answer' | 'away';
  /** @param message holds nothing of the text */
  constructor(kind: 'text' | 'answer' | 'away', message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** The failure that a status of an embedder behind HTTP means for the texts of the call. */
export function failureOfStatus(who: string, status: number): EmbeddingFailed {
  const kind = [400, 413, 422].includes(status) ? 'text' : status >= 500 && status !== 503 ? 'answer' : 'away';
  return new EmbeddingFailed(kind, `Cannot embed: ${who} answered ${status}`);
}

/** Checks the vectors of a response: one for each text, made of numbers, and of the requested length. */
export function checkedVectors(
  who: string,
  vectors: unknown,
  { texts, dimensions }: { texts: number; dimensions: number },
) {
  const isVector = (one: unknown): one is number[] =>
    Array.isArray(one) && one.length > 0 && one.every((value) => Number.isFinite(value));
  if (!Array.isArray(vectors) || vectors.length !== texts || !vectors.every(isVector))
    throw new EmbeddingFailed('answer', `Cannot embed: ${who} did not answer with a vector for each text`);
  const other = vectors.find((vector) => vector.length !== (dimensions || vectors[0]?.length));
  if (other)
    throw new EmbeddingFailed(
      'away',
      `Cannot embed: ${who} gave ${other.length} dimensions, and embedding.dimensions says ${dimensions}`,
    );
  return vectors;
}
