/** The providers by id, with the default address of each: what is needed where no format is read, as by commands that end at once. */
import * as z from 'zod/mini';

/** Where the capture proxy sends a provider's calls, unless the configuration says otherwise. */
export const UPSTREAMS = {
  anthropic: 'https://api.anthropic.com',
  gemini: 'https://generativelanguage.googleapis.com',
  openai: 'https://api.openai.com',
  ollama: 'http://localhost:11434',
} as const;

/** In the configuration, as the prefix of paths, and in what is stored. */
export type ProviderId = keyof typeof UPSTREAMS;

export const PROVIDER_IDS = Object.keys(UPSTREAMS) as [ProviderId, ...ProviderId[]];

export const ProviderId = z.enum(PROVIDER_IDS);

/** Their names for people: `anthropic, openai or …`. Without Intl, which takes longer to load than a command may. */
export const PROVIDER_NAMES: string = `${PROVIDER_IDS.slice(0, -1).join(', ')} or ${PROVIDER_IDS.at(-1)}`;

/** A value for each provider. */
export const forEachProvider = <T>(make: (id: ProviderId) => T): Record<ProviderId, T> =>
  Object.fromEntries(PROVIDER_IDS.map((id) => [id, make(id)])) as Record<ProviderId, T>;
