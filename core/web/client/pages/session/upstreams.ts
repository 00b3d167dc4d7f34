/** The default addresses of providers, and the environment variables in which their clients take credentials: for commands to copy. */

export type ProviderDefaults = {
  address: string;
  /** By the header or the parameter that holds one, in lower case. */
  credentials: Readonly<Record<string, { variable: string; scheme?: string }>>;
};

const UPSTREAMS: Readonly<Record<string, ProviderDefaults>> = {
  anthropic: {
    address: 'https://api.anthropic.com',
    credentials: {
      'x-api-key': { variable: 'ANTHROPIC_API_KEY' },
      authorization: { variable: 'ANTHROPIC_AUTH_TOKEN', scheme: 'Bearer ' },
    },
  },
  gemini: {
    address: 'https://generativelanguage.googleapis.com',
    credentials: {
      'x-goog-api-key': { variable: 'GEMINI_API_KEY' },
      key: { variable: 'GEMINI_API_KEY' },
      authorization: { variable: 'GEMINI_API_KEY', scheme: 'Bearer ' },
    },
  },
  openai: {
    address: 'https://api.openai.com',
    credentials: { authorization: { variable: 'OPENAI_API_KEY', scheme: 'Bearer ' } },
  },
  ollama: {
    address: 'http://localhost:11434',
    credentials: { authorization: { variable: 'OLLAMA_API_KEY', scheme: 'Bearer ' } },
  },
};

/** null: none that we know. */
export const upstreamOf = (provider: string | undefined): ProviderDefaults | null =>
  provider !== undefined && Object.hasOwn(UPSTREAMS, provider) ? (UPSTREAMS[provider] ?? null) : null;
