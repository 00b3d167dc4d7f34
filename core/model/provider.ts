/** The identifiers of providers in the configuration, and those of the wire formats. */
import { z } from 'zod';

export const ProviderId = z.enum(['anthropic', 'openai', 'ollama']);
export type ProviderId = z.infer<typeof ProviderId>;

/** A wire format is recognised by method and path; `core/provider` has a file for each. */
export const FormatId = z.enum([
  'anthropic.messages',
  'openai.chat',
  'openai.responses',
  'ollama.chat',
  'ollama.generate',
]);
export type FormatId = z.infer<typeof FormatId>;
