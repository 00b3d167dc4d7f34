/** GET /v1/admin/verify: whether turns are as they were written, session by session, for a database that only the service has open. */
import { createRoute } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { Refusal } from '../errors.ts';
import { chunkStream } from '../http/chunk-stream.ts';
import { Failure, guarded, json, routes } from '../http/routes.ts';
import type { Logger } from '../log.ts';
import { VerifyLine, VerifyQuery } from '../model/verify.ts';

const NO_SESSION = ['session-unknown', 'Cannot verify the session: there is none with this id'] as const;

const verify = createRoute({
  method: 'get',
  path: '/v1/admin/verify',
  operationId: 'verifySessions',
  tags: ['operator'],
  summary: 'Whether the turns of a session, or of all, are as they were written',
  description:
    'What `svc verify` checks, as lines of JSON while it is being checked: how many sessions there are, each session, and a line that ' +
    'says that the stream is whole. The service checks itself: who does not trust it lets `svc verify` read the database while it is ' +
    'stopped. The schema is that of one line.',
  request: { query: VerifyQuery },
  responses: {
    200: {
      description: 'The sessions as they are checked; without the last line the stream was cut',
      content: { 'application/x-ndjson': { schema: VerifyLine } },
    },
    400: json(Failure, 'A parameter is malformed', ['bad-request', 'Cannot read the query: "session_id" Invalid UUID']),
    404: json(Failure, 'No such session', NO_SESSION),
    ...guarded,
  },
});

type Deps = { execute: Database['execute']; log: Logger };

export const verifyApp = ({ execute, log }: Deps) =>
  routes().openapi(verify, async (c) => {
    const { session_id, head } = c.req.valid('query');
    const wanted = { session: session_id?.toLowerCase() ?? null, head: head?.toLowerCase() ?? null };
    if (wanted.session !== null) await sessionHere(execute, wanted.session);
    const type = { 'content-type': 'application/x-ndjson' };
    return (await chunkStream(c, verifyLines(execute, wanted), type, log)) as never; // lines, as in the contract
  });

async function sessionHere(execute: Database['execute'], session_id: string): Promise<void> {
  if (await execute('chainHead', { session_id })) return;
  throw new Refusal(...NO_SESSION);
}

async function* verifyLines(
  execute: Database['execute'],
  wanted: { session: string | null; head: string | null },
): AsyncGenerator<Uint8Array, void> {
  const line = (value: VerifyLine) => Buffer.from(`${JSON.stringify(value)}\n`);
  const sessions = wanted.session === null ? await execute('sessionCount', {}) : 1;
  yield line({ sessions }); // at once, since the first session may take long
  const [{ builtIn }, { openCheckedSlices }, { verifiedSessions }] = await Promise.all([
    import('../call/reader.ts'), // rarely needed, so not loaded at the start
    import('../engine/verify/checked-slices.ts'),
    import('../engine/verify/verified-sessions.ts'),
  ]);
  const verifier = { database: { execute }, reader: builtIn, slices: openCheckedSlices({ execute }) };
  for await (const verified of verifiedSessions(verifier, wanted)) yield line(verified);
  yield line({ end: true });
}
