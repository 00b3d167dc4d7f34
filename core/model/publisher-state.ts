/** What became of the nodes that were to be published, since the process started that stores them. */
import { z } from '@hono/zod-openapi';

export const PublisherState = z.object({
  queued: z.int().describe('nodes that wait'),
  published: z.int(),
  failed: z.int().describe('sent, and not confirmed by the brokers'),
  dropped: z.int().describe('not sent: the queue was full, the service stopped, or their turn was purged'),
  reason: z.string().nullable().describe('why no broker takes them now; null: one does, or none has been tried yet'),
});
export type PublisherState = z.infer<typeof PublisherState>;
