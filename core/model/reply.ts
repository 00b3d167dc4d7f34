/** A provider's answer, the same whether it was streamed or sent in one piece, and the head of a request. */
import { z } from 'zod';
import { ContentBlock } from './content-block.ts';
import { Usage } from './usage.ts';

export const Reply = z.object({
  content: z.array(ContentBlock),
  model: z.string(), // as the provider answered; '' when it named none
  response_id: z.string(), // the provider's own id of the answer; ''
  item_ids: z.array(z.string()).optional(), // of the parts of an answer that the provider holds: later requests may refer to them
  stop_reason: z.string(), // the provider's word, verbatim; '' while unknown
  usage: Usage.nullable(), // null when the provider reported none
  service_tier: z.string().optional(), // on which the provider billed, where it reports that beside the usage
  search_tool: z.string().optional(), // the type of the provider's web search, where its fee depends on that
  usage_verbatim: z.unknown(), // the provider's usage object; streamed parts merged, later values win; null
  complete: z.boolean(), // the document, or the stream's terminal event, was seen
  error: z.object({ type: z.string(), message: z.string() }).nullable(),
});
export type Reply = z.infer<typeof Reply>;

/** What a request asked for, apart from its messages. */
export const RequestHead = z.object({
  model: z.string(),
  stream: z.boolean(),
  max_tokens: z.int().nullable(),
  tool_count: z.int().nonnegative(),
  conversation_id: z.string(), // the provider's own id of the conversation that the call belongs to; '' when it names none
  previous_response_id: z.string(), // the provider's id of the answer that the request continues; '' when it names none
});
export type RequestHead = z.infer<typeof RequestHead>;
