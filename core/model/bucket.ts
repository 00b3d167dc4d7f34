/** Buckets, which are hashed: a bucket is the content of one message; a node is a bucket with its parent's hash. */
import { z } from 'zod';
import { ContentBlock } from './content-block.ts';

export const MessageRole = z.enum(['system', 'user', 'assistant', 'tool']);
export type MessageRole = z.infer<typeof MessageRole>;

/** One message as a provider's format reads it: all of a bucket that moves its hash. */
export const Message = z.object({ role: MessageRole, content: z.array(ContentBlock) });
export type Message = z.infer<typeof Message>;
