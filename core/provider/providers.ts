/** The providers. A new one is a file of its own and one line here; every list of providers and formats follows from this one. */
import { z } from 'zod';
import { anthropic } from './anthropic.ts';
import { gemini } from './gemini.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import type { Provider } from './provider.ts';

/** Where a path or a key fits several, the first decides. */
export const providers = [anthropic, gemini, openai, ollama] as const;

/** In the configuration, as the prefix of paths, and in what is stored. */
export const ProviderId = z.enum(providers.map(({ id }) => id));
export type ProviderId = z.infer<typeof ProviderId>;

/** null: none of ours. */
export const providerNamed = (id: string): Provider | null => providers.find((provider) => provider.id === id) ?? null;

const byId: Record<string, Provider> = Object.fromEntries(providers.map((provider) => [provider.id, provider]));
export const providerById = (id: ProviderId): Provider => byId[id] as Provider;

/** A value for each provider. */
export const forEachProvider = <T>(make: (provider: Provider) => T): Record<ProviderId, T> =>
  Object.fromEntries(providers.map((provider) => [provider.id, make(provider)])) as Record<ProviderId, T>;

/** Their names for people: `anthropic, openai or …`. Without Intl, which takes longer to load than a command may. */
export const PROVIDER_NAMES: string = `${ProviderId.options.slice(0, -1).join(', ')} or ${ProviderId.options.at(-1)}`;
