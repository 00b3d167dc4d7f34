/** How does OpenAI embed, or whoever speaks as it does? Through its own client, with base URL and key. */
import type OpenAI from 'openai';
import { checkedVectors, type Embedder, EmbeddingFailed, failureOfStatus, NoEmbedder } from './embedder.ts';

const PATIENCE_MS = 60_000;
const DEFAULT = { model: 'text-embedding-3-large', dimensions: 1024 };

type Given = { target: string; model: string; dimensions: number; key: string };

/** @throws {NoEmbedder} without a key; a server of one's own may need none */
export function openaiEmbedder({ target, model: asked, dimensions: chosen, key }: Given): Embedder {
  if (key === '' && target === '') throw new NoEmbedder('there is no key for openai');
  const model = asked || DEFAULT.model;
  const dimensions = chosen || (asked === '' ? DEFAULT.dimensions : 0);
  let client: Promise<OpenAI> | undefined;
  const opened = () => {
    client ??= openedClient(target, key);
    return client;
  };
  return {
    model: `openai/${model}${dimensions ? `@${dimensions}` : ''}`,
    chunkLength: 6000,
    batch: 32,
    async embed(texts, { signal } = {}) {
      const { embeddings } = await opened();
      const answer = await embeddings
        .create(
          { model, input: [...texts], encoding_format: 'float', ...(dimensions ? { dimensions } : {}) },
          signal ? { signal } : {},
        )
        .catch((error: unknown) => {
          throw failureOf(error);
        });
      const inOrder = [...(answer.data ?? [])].sort((one, other) => one.index - other.index);
      return checkedVectors(
        'openai',
        inOrder.map(({ embedding }) => embedding),
        { texts: texts.length, dimensions },
      );
    },
  };
}

/** Loaded when it is first needed, since most never need it. What is not said here the environment would be asked for. */
async function openedClient(target: string, apiKey: string): Promise<OpenAI> {
  const { OpenAI } = await import('openai');
  return new OpenAI({
    apiKey: apiKey || 'none',
    baseURL: target || 'https://api.openai.com/v1',
    ...{ organization: null, project: null, webhookSecret: null },
    timeout: PATIENCE_MS,
    maxRetries: 1,
    logLevel: 'off',
  });
}

function failureOf(error: unknown): EmbeddingFailed {
  const { status } = error as { status?: unknown };
  if (typeof status === 'number') return failureOfStatus('openai', status);
  const why = `Cannot embed: openai cannot be asked (${error instanceof Error ? error.name : typeof error})`;
  return new EmbeddingFailed('away', why, { cause: error });
}
