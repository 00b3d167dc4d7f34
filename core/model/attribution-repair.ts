/** The repair of an attribution: the request that assigns a turn to another session, and its result. */
import { z } from '@hono/zod-openapi';

const Reason = z.string().trim().min(1).max(500).describe('stored with the correction, for whoever audits it');
const HarnessId = z.string().trim().min(1).describe('"unknown" where no client names it');
const HarnessSessionId = z
  .string()
  .trim()
  .min(1)
  .describe('of the session that it is to count for; made where there is none');

export const AttributionRepair = z
  .strictObject({
    raw_turn_id: z.int().positive().optional().describe('which turn; this or the next, never both'),
    svc_proxy_request_id: z
      .string()
      .min(1)
      .optional()
      .describe('which turn, by the id that the proxy gave the request'),
    harness_id: HarnessId,
    harness_session_id: HarnessSessionId,
    thread_id: z.string().trim().optional().describe('absent: the main thread'),
    parent_harness_session_id: z
      .string()
      .trim()
      .min(1)
      .optional()
      .describe('the session that started this one, which is another; absent: none'),
    reason: Reason,
  })
  .refine((wanted) => (wanted.raw_turn_id === undefined) !== (wanted.svc_proxy_request_id === undefined), {
    message: 'name the turn by raw_turn_id or by svc_proxy_request_id, by one of them',
  })
  .refine((wanted) => wanted.parent_harness_session_id !== wanted.harness_session_id, {
    path: ['parent_harness_session_id'],
    message: 'is the session itself',
  })
  .openapi('AttributionRepair', {
    oneOf: [{ required: ['raw_turn_id'] }, { required: ['svc_proxy_request_id'] }],
    examples: [
      {
        raw_turn_id: 12,
        harness_id: 'claude',
        harness_session_id: '019fa57e-6d3c-7a51-8a1c-5f2a9f1f7b20',
        reason: 'its wrapper sent no session',
      },
      {
        svc_proxy_request_id: '019fa57e-7000-7a51-8a1c-5f2a9f1f7b20',
        harness_id: 'claude',
        harness_session_id: '019fa57e-6d3c-7a51-8a1c-5f2a9f1f7b20',
        thread_id: 'reviewer',
        parent_harness_session_id: '019fa57e-0001-7a51-8a1c-5f2a9f1f7b20',
        reason: 'a sub-agent of the other session',
      },
    ],
  });

const SessionNames = z.object({ session_id: z.uuid(), harness_id: z.string(), harness_session_id: z.string() });

const Attribution = z
  .object({
    raw_turn_id: z.int(),
    ...SessionNames.shape,
    thread_id: z.string().describe('empty: the main thread'),
    parent_harness_session_id: z.string().optional(),
  })
  .openapi('Attribution');
export type Attribution = z.infer<typeof Attribution>;

const previous = {
  raw_turn_id: 12,
  session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
  harness_id: 'unknown',
  harness_session_id: '019fa57e-7000-7a51-8a1c-5f2a9f1f7b20',
  thread_id: '',
};
export const repairedExample = {
  recorded: true,
  previous,
  effective: {
    ...previous,
    session_id: '0b7d5f37-5bd0-5a57-9a0c-8d7c2f0c6a11',
    harness_id: 'claude',
    harness_session_id: '019fa57e-6d3c-7a51-8a1c-5f2a9f1f7b20',
  },
};

export const AttributionRepaired = z
  .object({
    recorded: z.boolean().describe('false: it counted so already, and nothing was written'),
    previous: Attribution,
    effective: Attribution,
    projections_pending: z
      .array(SessionNames)
      .optional()
      .describe('with 202: sessions that still read as before; they are derived without another call'),
    source_cleanup_pending: z
      .literal(true)
      .optional()
      .describe(
        'the session that the turn was taken from has none left and could not be taken out of the lists; it holds nothing, and ' +
          'it is not retried',
      ),
  })
  .openapi('AttributionRepaired', { examples: [repairedExample] });
export type AttributionRepaired = z.infer<typeof AttributionRepaired>;
