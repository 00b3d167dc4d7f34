/** POST /v1/admin/find-text: where a text stands, such as a secret that is to be purged. */
import { createRoute } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { chunkStream } from '../http/chunk-stream.ts';
import { optionalBody } from '../http/optional-body.ts';
import { Failure, guarded, json, routes } from '../http/routes.ts';
import type { Logger } from '../log.ts';
import { FindTextLine, FindTextRequest } from '../model/find-text.ts';

const findText = createRoute({
  method: 'post',
  path: '/v1/admin/find-text',
  operationId: 'findText',
  tags: ['operator'],
  summary: 'Where a text stands: in which sessions, turns and rows',
  description:
    'Looks through all bodies as they passed and without their content coding, headers, everything derived, names, turns that were set ' +
    'aside, and the tables of cassettes in the same database. The response is lines of JSON while it looks; the schema is that of one ' +
    'line. A POST, so that the text stands in no address. Not looked through: the journal, whose calls are stored within about a second, ' +
    'databases of cassettes, backups.',
  request: { body: { required: true, content: { 'application/json': { schema: FindTextRequest } } } },
  responses: {
    200: {
      description: 'What was found so far; without the last line the stream was cut',
      content: { 'application/x-ndjson': { schema: FindTextLine } },
    },
    400: json(Failure, 'No text, or it is too short', [
      'bad-request',
      'Cannot read the body: "text" Too small: expected string to have >=4 characters',
    ]),
    413: json(Failure, 'The body is too large'),
    415: json(Failure, 'The body is not JSON'),
    ...guarded,
  },
});

const SCANNED_MS = 500;

type Deps = { execute: Database['execute']; log: Logger };

const MOST_BYTES = 64 * 1024;

export const findTextApp = ({ execute, log }: Deps) => {
  const app = routes();
  app.use(findText.path, optionalBody(MOST_BYTES));
  return app.openapi(findText, async (c) => {
    const { text } = c.req.valid('json');
    return (await chunkStream(c, lines(execute, text), { 'content-type': 'application/x-ndjson' }, log)) as never;
  });
};

async function* lines(execute: Database['execute'], text: string): AsyncGenerator<Uint8Array, void> {
  const line = (value: FindTextLine) => Buffer.from(`${JSON.stringify(value)}\n`);
  yield line({ sessions: await execute('sessionCount', {}) }); // at once, since the first session may take long
  const { findText: find } = await import('../engine/find-text/find-text.ts'); // rarely needed, so not loaded at the start
  let shownAt = performance.now();
  for await (const step of find(execute, text)) {
    if ('scanned' in step && performance.now() - shownAt < SCANNED_MS) continue;
    shownAt = performance.now();
    yield line(step);
  }
  yield line({ end: true });
}
