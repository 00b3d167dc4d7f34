/** The providers. A new one is a file of its own, one line here and one in provider-ids.ts; every list of formats follows from this one. */
import { anthropic } from './anthropic.ts';
import { gemini } from './gemini.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import type { Provider } from './provider.ts';
import type { ProviderId } from './provider-ids.ts';

/** Where a path or a key fits several, the first decides. */
export const providers = [anthropic, gemini, openai, ollama] as const;

/** null: none of ours. */
export const providerNamed = (id: string): Provider | null => providers.find((provider) => provider.id === id) ?? null;

const byId: Record<string, Provider> = Object.fromEntries(providers.map((provider) => [provider.id, provider]));
export const providerById = (id: ProviderId): Provider => byId[id] as Provider;
