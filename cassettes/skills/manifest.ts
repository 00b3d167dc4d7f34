/** The manifest of skills, and their settings. */
import type { HttpBindings } from '@hono/node-server';
import type { Env, Manifest } from '../../core/cassette/contract.ts';
import type { HttpEnv } from '../../core/http/routes.ts';

export const manifest: Manifest = {
  kind: 'svc.cassette/v1',
  cassette: {
    name: 'skills',
    version: '1.0.0',
    display_name: 'Skills',
    description: 'Keeps skills for agents: written by hand, or generated from recorded sessions; published in versions',
    license: 'Apache-2.0',
  },
  depends: { core: 'v1' },
  bindings: { db: true, core: true, network: true, forward_auth: true },
  tables: [{ name: 'skills' }, { name: 'skill_versions' }],
  config: [
    {
      key: 'llm.base_url',
      type: 'string',
      default: 'https://api.openai.com/v1',
      description: 'Of an API like that of OpenAI; of Ollama http://localhost:11434/v1',
    },
    {
      key: 'llm.api_key',
      type: 'string',
      secret: true,
      description: 'Without one nothing is generated; Ollama takes any',
    },
    {
      key: 'anthropic.api_key',
      type: 'string',
      secret: true,
      description: 'Taken instead where llm.base_url is theirs',
    },
    { key: 'llm.model', type: 'string', default: 'gpt-4o-mini' },
    { key: 'llm.timeout', type: 'duration', default: '30s', description: 'For each answer of the model' },
    {
      key: 'transcript.max_characters',
      type: 'int',
      default: 60_000,
      min: 2_000,
      max: 2_000_000,
      description: 'Of all sessions of one skill together that the model is shown',
    },
  ],
};

/** The settings above, in `env.CONFIG`. */
export type SkillsConfig = {
  'llm.base_url': string;
  'llm.api_key'?: string;
  'anthropic.api_key'?: string;
  'llm.model': string;
  'llm.timeout': number;
  'transcript.max_characters': number;
};

/** The types of bindings and variables of each request. */
export type SkillsHttp = {
  Bindings: Env<SkillsConfig> & Partial<HttpBindings>;
  Variables: HttpEnv['Variables'];
};
