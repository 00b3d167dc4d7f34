/** The settings that the service passes to its own cassettes: those of the service's configuration, under the same names. */
import type { Credentials } from '../../config/credentials.ts';
import type { Config } from '../../config/schema.ts';

/** By the keys that a manifest declares; what is not set is left out, so that the manifest's default applies. */
export const coreSettings = (
  { embedding, vector_store }: Pick<Config, 'embedding' | 'vector_store'>,
  { openai, anthropic }: Credentials,
  folder: string,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries({
      'embedding.provider': embedding.provider,
      'embedding.target': embedding.target,
      'embedding.model': embedding.model,
      'embedding.dimensions': embedding.dimensions,
      'vector_store.target': vector_store.target,
      'openai.api_key': openai,
      'anthropic.api_key': anthropic,
      'llm.api_key': openai,
      models_folder: `${folder}/models`,
    }).filter(([, value]) => value !== undefined && value !== '' && value !== 0),
  );
