/** The tokens of a call, normalised so that sums are right whatever the provider; its own object is stored verbatim as well. */
import { z } from 'zod';

/**
 * Tokens of one call, each counted once. `input_tokens` includes cache reads and cache writes (Anthropic reports them apart,
 * OpenAI inside); `output_tokens` includes reasoning.
 */
export const Usage = z.object({
  input_tokens: z.int().nonnegative(),
  output_tokens: z.int().nonnegative(),
  cache_read_tokens: z.int().nonnegative(),
  cache_write_5m_tokens: z.int().nonnegative(),
  cache_write_1h_tokens: z.int().nonnegative(),
  reasoning_tokens: z.int().nonnegative(),
});
export type Usage = z.infer<typeof Usage>;

export const noUsage: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  reasoning_tokens: 0,
};

/** The tokens of two calls, or of two parts of one. */
export const addUsage = (one: Usage, other: Usage): Usage => ({
  input_tokens: one.input_tokens + other.input_tokens,
  output_tokens: one.output_tokens + other.output_tokens,
  cache_read_tokens: one.cache_read_tokens + other.cache_read_tokens,
  cache_write_5m_tokens: one.cache_write_5m_tokens + other.cache_write_5m_tokens,
  cache_write_1h_tokens: one.cache_write_1h_tokens + other.cache_write_1h_tokens,
  reasoning_tokens: one.reasoning_tokens + other.reasoning_tokens,
});
