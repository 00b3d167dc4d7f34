/** The embedder that the settings name. */
import type { Env } from '../../core/cassette/contract.ts';
import type { Embedder } from './embedder.ts';
import { localDimensions, localEmbedder } from './local.ts';
import type { SearchConfig } from './manifest.ts';
import { ollamaEmbedder } from './ollama.ts';
import { openaiEmbedder } from './openai.ts';
import { isTarget } from './target.ts';

/** @throws {NoEmbedder} */
export function embedderOf({ CONFIG }: Env<SearchConfig>): Embedder {
  const options = {
    target: CONFIG['embedding.target'],
    model: CONFIG['embedding.model'],
    dimensions: CONFIG['embedding.dimensions'],
  };
  switch (CONFIG['embedding.provider']) {
    case 'ollama':
      return ollamaEmbedder(options);
    case 'openai':
      return openaiEmbedder({ ...options, key: CONFIG['openai.api_key'] ?? '' });
    default:
      return localEmbedder({ ...options, models: CONFIG.models_folder });
  }
}

/** Why these settings can never work, as far as that is known without a request to another server; null: no reason is known. */
export function settingsProblem(config: SearchConfig): string | null {
  const target = config['vector_store.target'] ?? '';
  if (target !== '' && !isTarget(target)) return 'vector_store.target is no address of a PostgreSQL server';
  const configured = config['embedding.dimensions'];
  if (config['embedding.provider'] !== 'local' || configured === 0) return null;
  const actual = localDimensions({ model: config['embedding.model'], models: config.models_folder });
  return actual === null || actual === configured
    ? null
    : `embedding.dimensions says ${configured}, and the local model has ${actual}`;
}
