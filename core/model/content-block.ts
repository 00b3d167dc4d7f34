/** The blocks of a message's content: one shape for every provider, so that derivation and hashing depend on none of them. */
import { z } from '@hono/zod-openapi';

/**
 * A block of a message's content. `type` is `text`, `image`, `thinking`, `tool_use`, `server_tool_use`, `tool_result`, or the
 * provider's own word for a block we do not model, which is then held whole in `content`.
 * A field is absent when the provider did not send it.
 */
export const ContentBlock = z.object({
  type: z.string(),
  text: z.string().optional(),
  image_url: z.string().optional(),
  image_base64: z.string().optional(),
  media_type: z.string().optional(),
  tool_use_id: z.string().optional(),
  tool_name: z.string().optional(),
  tool_input: z.unknown().optional(),
  tool_result_id: z.string().optional(),
  tool_output: z.string().optional(),
  is_error: z.boolean().optional(),
  thinking: z.string().optional(),
  thinking_signature: z.string().optional(),
  content: z.unknown().optional(),
});
export type ContentBlock = z.infer<typeof ContentBlock>;
