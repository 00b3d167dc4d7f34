/** The stream of a verification: the number of sessions, each of them as it was found, and the end. */
import { z } from '@hono/zod-openapi';

export const VerifyQuery = z.object({
  session_id: z.uuid().optional().describe('only this one; absent: every session, deleted ones too'),
  head: z
    .string()
    .regex(/^[0-9a-f]{64}$/i)
    .optional()
    .describe('the hash of a turn that was noted earlier: `has_head` says whether it is there'),
});

const Break = z
  .object({
    check: z.enum(['session', 'link', 'bytes', 'turn', 'node', 'call']).describe('which check failed'),
    session_seq: z.int().nullable(),
    raw_turn_id: z.int().nullable(),
    node_hash: z.string().nullable(),
    what: z.string().describe('a clause, which quotes nothing of what was recorded'),
  })
  .openapi('VerifyBreak', {
    examples: [
      {
        check: 'turn',
        session_seq: 2,
        raw_turn_id: 17,
        node_hash: null,
        what: 'its columns and headers do not have its turn_hash',
      },
    ],
  });

const Verified = z
  .object({
    session_id: z.uuid(),
    turns: z.int(),
    purged: z.int().describe('turns of which a tombstone is left'),
    bytes: z.int().describe('of both bodies'),
    head_turn_hash: z.string().nullable().describe('of the last turn, as it was found'),
    has_head: z.boolean().describe('whether the hash of the request is that of one of its turns'),
    nodes: z.int(),
    outdated: z.int().describe('nodes and calls that this version reads otherwise, which is no tampering'),
    nodes_checked: z.boolean().describe('false: the turns are broken, so that nodes cannot be compared with them'),
    breaks: z.int(),
    first_breaks: z.array(Break).describe('the first twenty'),
  })
  .openapi('SessionVerified', {
    examples: [
      {
        session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
        turns: 9,
        purged: 0,
        bytes: 482_101,
        head_turn_hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
        has_head: false,
        nodes: 19,
        outdated: 0,
        nodes_checked: true,
        breaks: 0,
        first_breaks: [],
      },
    ],
  });

/** One line of the stream. */
export const VerifyLine = z
  .union([
    z.object({ sessions: z.int() }).describe('the first: how many there are'),
    Verified,
    z.object({ end: z.literal(true) }).describe('the last: the stream is whole'),
  ])
  .openapi('VerifyLine', { examples: [{ end: true }] });
export type VerifyLine = z.infer<typeof VerifyLine>;
