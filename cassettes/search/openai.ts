/** The embedder behind OpenAI, or a server with the same API: called through OpenAI's own client, with base URL and key. */
import type OpenAI from 'openai';
import { checkedVectors, type Embedder, EmbeddingFailed, failureOfStatus, NoEmbedder } from './embedder.ts';

const TIMEOUT_MS = 60_000;
const DEFAULT = { model: 'text-embedding-3-large', dimensions: 1024 };

type OpenaiOptions = { target: string; model: string; dimensions: number; key: string };

/** @throws {NoEmbedder} without a key; a server of one's own may need none */
export function openaiEmbedder({
  target,
  model: configuredModel,
  dimensions: configuredDimensions,
  key,
}: OpenaiOptions): Embedder {
  if (key === '' && target === '') throw new NoEmbedder('there is no key for openai');
  const model = configuredModel || DEFAULT.model;
  const dimensions = configuredDimensions || (configuredModel === '' ? DEFAULT.dimensions : 0);
  let client: Promise<OpenAI> | undefined;
  const openedOnce = () => {
    client ??= openClient(target, key);
    return client;
  };
  return {
    model: `openai/${model}${dimensions ? `@${dimensions}` : ''}`,
    chunkLength: 6000,
    batch: 32,
    async embed(texts, { signal } = {}) {
      const { embeddings } = await openedOnce();
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

/** The library is loaded when it is first needed, since most never need it. Options that are left out would be read from the environment. */
async function openClient(target: string, apiKey: string): Promise<OpenAI> {
  const { OpenAI } = await import('openai');
  return new OpenAI({
    apiKey: apiKey || 'none',
    baseURL: target || 'https://api.openai.com/v1',
    ...{ organization: null, project: null, webhookSecret: null },
    timeout: TIMEOUT_MS,
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
