/** The providers. A new one is a file of its own, one line here and one in provider-ids.ts; every list of formats follows from this one. */
import { anthropic } from './anthropic.ts';
import type { Caching } from './caching.ts';
import { gemini } from './gemini.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import type { Provider } from './provider.ts';
import type { ProviderId } from './provider-ids.ts';

/** Where a path or a key fits several, the first decides. */
export const providers = [anthropic, gemini, openai, ollama] as const;

/** null: none of ours. */
export const providerNamed = (id: string): Provider | null => providers.find((provider) => provider.id === id) ?? null;

/** How a provider caches the prompts of a call; null: it does not say. */
export const cachingOf = (call: { provider: string; model: string; format: string }): Caching | null =>
  providerNamed(call.provider)?.caching(call) ?? null;

const byId: Record<string, Provider> = Object.fromEntries(providers.map((provider) => [provider.id, provider]));
export const providerById = (id: ProviderId): Provider => byId[id] as Provider;
