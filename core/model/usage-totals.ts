/** The sums of what several calls used, as sessions and traces show them. */
import { z } from '@hono/zod-openapi';

export const UsageTotals = z.object({
  input_tokens: z.int().describe('of all LLM spans; cache reads and writes included'),
  output_tokens: z.int().describe('reasoning included'),
  cache_read_tokens: z.int(),
  cache_write_tokens: z.int(),
  reasoning_tokens: z.int(),
  cost_usd: z.number().nullable().describe('of the priced calls; null: none is priced'),
  unpriced_models: z.array(z.string()),
});
