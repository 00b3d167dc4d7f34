/** The body of an error response: RFC 9457, with the additional member `error`: one sentence, for clients that read nothing else. */
import { z } from '@hono/zod-openapi';

export const Problem = z
  .object({
    type: z.string().describe('always "about:blank": the status and `code` say it all'),
    title: z.string().describe('what the status means'),
    status: z.int(),
    code: z.string().describe('stable word for the reason'),
    detail: z.string(),
    error: z.string().describe('the same sentence as `detail`'),
    request_id: z.string().describe('under which the log has more'),
  })
  .openapi('Problem', {
    examples: [
      {
        type: 'about:blank',
        title: 'Not Found',
        status: 404,
        code: 'session-unknown',
        detail: 'Cannot read the session: there is none with this id',
        error: 'Cannot read the session: there is none with this id',
        request_id: '019aa5f0-8f1a-7c33-9d0e-3a6f5e0b7c11',
      },
    ],
  });
export type Problem = z.infer<typeof Problem>;
