/** The upload of a harness's transcript by a trusted client, and its result. */
import { z } from '@hono/zod-openapi';
import { IngestSession } from './ingest.ts';

/** A name that is not empty; white space alone is no name. */
const name = z.string().min(1).regex(/\S/);
const nameOrNone = z.string().regex(/^$|\S/).nullish();

const Sha256 = z.string().regex(/^[0-9A-Fa-f]{64}$/);

export const CountedPart = z
  .object({
    index: z
      .int()
      .nonnegative()
      .describe('0 is the first; below count, which no schema can say: else it is refused (400)'),
    count: z.int().positive(),
    file_sha256: Sha256.describe('of the whole file, in hex: parts that name the same are of one version'),
    from_line: z.int().nonnegative().describe('place in the file of the first of these records'),
  })
  .openapi('CountedPart', {
    description:
      'A part of one version of a file. The version counts once all of its parts are here, in whatever order',
  });
export type CountedPart = z.infer<typeof CountedPart>;

export const ChainedPart = z
  .object({
    from_line: z.int().nonnegative().describe('place in the file of the first of these records'),
    prefix_sha256: Sha256.nullish().describe(
      'of the file up to these records, in hex: the through_sha256 of the part before; absent of the first, and only there (else 400)',
    ),
    through_sha256: Sha256.describe('of the file up to the last of these records; the service does not check it'),
    is_last: z
      .boolean()
      .describe(
        'whether a version of the file ends with these records; it is sent after all parts before it (else 409)',
      ),
  })
  .openapi('ChainedPart', {
    description:
      'A part of a file that grows: a later version sends only the parts that differ, which go on from one that is here',
  });
export type ChainedPart = z.infer<typeof ChainedPart>;

export const TranscriptPart = z.union([CountedPart, ChainedPart]).openapi('TranscriptPart');
export type TranscriptPart = z.infer<typeof TranscriptPart>;

export const TranscriptUpload = z
  .object({
    session: IngestSession.extend({
      harness_id: z.string().nullish().describe('absent or empty: "unknown"'),
      harness_session_id: name.describe('whose session the file is of'),
    }),
    agent_id: nameOrNone.describe(
      "of the sub-agent whose file it is; absent or empty: the main thread's file. An agent named main is an agent",
    ),
    agent_type: z.string().nullish(),
    description: z.string().nullish(),
    tool_use_id: z.string().nullish().describe('of the tool call that spawned the sub-agent'),
    kind: z
      .string()
      .nullish()
      .describe('absent, empty or started: evidence of a spawn; interacted: a re-entry, stored and not derived from'),
    records: z
      .array(z.unknown())
      .describe('of the file, a line each, in order and whatever they are; a line that is no JSON comes as a string'),
    part: TranscriptPart.nullish().describe(
      'of a file that is sent in parts: its versions count when all their parts are here',
    ),
  })
  .openapi('TranscriptUpload', {
    examples: [
      {
        session: { harness_id: 'claude', harness_session_id: '13607ae7-2247-4428-8c8f-a10fe2fd0148' },
        agent_id: 'a9b2a396fff8564e8',
        agent_type: 'general-purpose',
        description: 'Echo check',
        tool_use_id: 'toolu_01A09q90qw90lq917835lq9',
        records: [
          {
            type: 'user',
            isSidechain: true,
            agentId: 'a9b2a396fff8564e8',
            uuid: '7602e977-7b67-4527-a397-808deb9432cd',
            timestamp: '2026-11-21T04:17:15.638Z',
            message: { role: 'user', content: 'Run echo and report' },
          },
        ],
        part: {
          index: 0,
          count: 2,
          file_sha256: '3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b',
          from_line: 0,
        },
      },
    ],
  });

/** What is stored of an upload beside its bytes: `meta.transcript`. '' is unknown. */
export type TranscriptSummary = {
  main: boolean;
  agent_id: string; // '' of the main file
  agent_type: string;
  description: string;
  tool_use_id: string;
  kind: string; // as sent
  records: number;
  first_at: string | null; // of the records that have a time; UTC with microseconds
  last_at: string | null;
  part?: TranscriptPart;
};

/** Where an accepted upload is stored; `deduped`: its content was stored before. */
export type AcceptedTranscript = {
  raw_turn_id: number;
  session_id: string;
  deduped: boolean;
  summary: TranscriptSummary;
};

/**
 * `malformed`: not stored. `unstorable`: not stored either, since the database refused it. `incomplete`: not stored, since a part before it
 * is missing. `purged`: not stored, since its session was purged. `unavailable`: try again.
 */
export type TranscriptVerdict =
  | ({ kind: 'accepted' } & AcceptedTranscript)
  | { kind: 'malformed'; error: string }
  | { kind: 'unstorable'; error: string }
  | { kind: 'incomplete'; error: string }
  | { kind: 'purged'; error: string }
  | { kind: 'unavailable'; error: string };
