/** GET /v1/sessions/{id}/find: every place of a text in one session, sent as it is found. */
import { setImmediate as immediately } from 'node:timers/promises';
import { createRoute, z } from '@hono/zod-openapi';
import { batches } from '../db/batches.ts';
import type { Database } from '../db/database.ts';
import type { FindStart, SearchedPage } from '../db/find/find-in-session.ts';
import { Refusal } from '../errors.ts';
import { chunkStream } from '../http/chunk-stream.ts';
import { Failure, guardedPayloads, json, routes } from '../http/routes.ts';
import type { Logger } from '../log.ts';
import { FindInSessionQuery, FindLine } from '../model/find.ts';
import { Id } from '../model/page.ts';

const findInSession = createRoute({
  method: 'get',
  path: '/v1/sessions/{id}/find',
  operationId: 'findInSession',
  tags: ['sessions'],
  summary: 'Every place of a text in a session, as it is found',
  description: [
    'Lines of JSON in the order of the conversation; the schema is that of one line. The text is found as it is written, in letters of',
    'either case, also where the UI folds what holds it. No index is used: what was derived a moment ago is found too. The last line has',
    '`complete`; without it the stream was cut. Of the input of a tool all texts are looked through, in their order; offsets count them',
    'as if they were joined by line feeds.',
  ].join(' '),
  request: { params: z.object({ id: Id }), query: FindInSessionQuery },
  responses: {
    200: {
      description: 'What was found so far',
      content: { 'application/x-ndjson': { schema: FindLine } },
    },
    400: json(Failure, 'No text, or a bad place', [
      'bad-request',
      'Cannot read the query: "in" must be one of conversation, tools, thinking, prompt, or some of them with commas between',
    ]),
    404: json(Failure, 'No such session'),
    ...guardedPayloads,
  },
});

/** The first page is small, so that what is near the beginning is shown at once. */
const SPANS = { first: 100, later: 1_000 };

/** A page is held in memory; of it the reader takes a chunk at a time. */
const MATCHES = { page: 20_000, chunk: 1_000 };

type Deps = { execute: Database['execute']; log: Logger };

export const sessionFindApp = ({ execute, log }: Deps) =>
  routes().openapi(findInSession, async (c) => {
    const { id: session_id } = c.req.valid('param');
    const lines = linesOf(execute, { session_id, ...c.req.valid('query') });
    return (await chunkStream(c, lines, { 'content-type': 'application/x-ndjson' }, log)) as never;
  });

type Search = z.infer<typeof FindInSessionQuery> & { session_id: string };

async function* linesOf(execute: Database['execute'], search: Search): AsyncGenerator<Uint8Array, void> {
  const { session_id, text, in: places, thread = null } = search;
  const of = await execute('spansToSearch', { session_id, thread });
  if (of === null) throw new Refusal('session-unknown', 'Cannot read the session: there is none with this id');
  const inPrompts = places.includes('prompt');
  let searched = 0;
  for (let start: FindStart | null = null, more = true; more; ) {
    const limit = start ? SPANS.later : SPANS.first;
    const page: SearchedPage = await execute('findInSession', {
      ...{ session_id, thread, text, places, start, limit },
      most: MATCHES.page,
    });
    searched += page.searched;
    start = page.next;
    more = start !== null;
    for (const chunk of batches(page.matches, MATCHES.chunk)) {
      yield linesFrom(chunk);
      await immediately(); // a reader that takes each chunk at once would leave others no turn of the loop
    }
    yield linesFrom([{ searched, of: Math.max(of, searched), complete: !more && !inPrompts }]);
  }
  if (!inPrompts) return;
  const { findInPrompts } = await import('../engine/find/find-in-prompts.ts');
  const prompts = { session_id, thread, text, most: MATCHES.chunk };
  for await (const matches of findInPrompts(execute, prompts)) yield linesFrom(matches);
  yield linesFrom([{ searched, of: Math.max(of, searched), complete: true }]);
}

const linesFrom = (lines: readonly FindLine[]): Uint8Array =>
  Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
