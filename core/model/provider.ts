/** Who answers? Provider identifiers of the configuration, and the wire formats that each of them speaks. */
import { z } from 'zod';

export const ProviderId = z.enum(['anthropic', 'openai', 'ollama']);
export type ProviderId = z.infer<typeof ProviderId>;

/** A wire format is told from method and path; `core/provider` has a file for each. */
export const FormatId = z.enum([
  'anthropic.messages',
  'openai.chat',
  'openai.responses',
  'ollama.chat',
  'ollama.generate',
]);
export type FormatId = z.infer<typeof FormatId>;
