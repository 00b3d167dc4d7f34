/** The embedder behind Ollama, a local model runner: POST /api/embed. */
import { checkedVectors, type Embedder, EmbeddingFailed, failureOfStatus } from './embedder.ts';

const TIMEOUT_MS = 120_000; // it may have to load the model first

type OllamaOptions = { target: string; model: string; dimensions: number };

export const ollamaEmbedder = ({ target, model: configuredModel, dimensions }: OllamaOptions): Embedder => {
  const model = configuredModel || 'embeddinggemma';
  const address = `${(target || 'http://localhost:11434').replace(/\/+$/, '')}/api/embed`;
  return {
    model: `ollama/${model}${dimensions ? `@${dimensions}` : ''}`,
    chunkLength: 4000,
    batch: 16,
    async embed(texts, { signal } = {}) {
      const response = await fetch(address, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model, input: texts, ...(dimensions ? { dimensions } : {}) }),
        signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])]),
      }).catch((error: Error) => {
        throw new EmbeddingFailed('away', `Cannot embed: ollama cannot be asked (${error.name})`, { cause: error });
      });
      if (!response.ok) {
        await response.body?.cancel();
        throw failureOfStatus('ollama', response.status);
      }
      const answer = (await response.json().catch(() => null)) as { embeddings?: unknown } | null;
      return checkedVectors('ollama', answer?.embeddings, { texts: texts.length, dimensions });
    },
  };
};
