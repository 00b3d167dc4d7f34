/** Which embedder do the settings ask for? */
import type { Env } from '../../core/cassette/contract.ts';
import type { Embedder } from './embedder.ts';
import { localDimensions, localEmbedder } from './local.ts';
import type { SearchConfig } from './manifest.ts';
import { ollamaEmbedder } from './ollama.ts';
import { openaiEmbedder } from './openai.ts';
import { isTarget } from './target.ts';

/** @throws {NoEmbedder} */
export function embedderOf({ CONFIG }: Env<SearchConfig>): Embedder {
  const given = {
    target: CONFIG['embedding.target'],
    model: CONFIG['embedding.model'],
    dimensions: CONFIG['embedding.dimensions'],
  };
  switch (CONFIG['embedding.provider']) {
    case 'ollama':
      return ollamaEmbedder(given);
    case 'openai':
      return openaiEmbedder({ ...given, key: CONFIG['openai.api_key'] ?? '' });
    default:
      return localEmbedder({ ...given, models: CONFIG.models_folder });
  }
}

/** Why these settings can never work, where that can be told without asking anybody; null: nothing is known against them. */
export function settingsProblem(config: SearchConfig): string | null {
  const target = config['vector_store.target'] ?? '';
  if (target !== '' && !isTarget(target)) return 'vector_store.target is no address of a PostgreSQL server';
  const asked = config['embedding.dimensions'];
  if (config['embedding.provider'] !== 'local' || asked === 0) return null;
  const has = localDimensions({ model: config['embedding.model'], models: config.models_folder });
  return has === null || has === asked ? null : `embedding.dimensions says ${asked}, and the local model has ${has}`;
}
