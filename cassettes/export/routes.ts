/** The routes of the export cassette: both exports, its health and its contract. */
import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Env } from '../../core/cassette/contract.ts';
import { contractOf } from '../../core/http/contract.ts';
import { documentApp } from '../../core/http/document.ts';
import { knownQuery } from '../../core/http/known-query.ts';
import { refuseNul } from '../../core/http/nul.ts';
import { problem } from '../../core/http/problem.ts';
import { requestIds } from '../../core/http/request-id.ts';
import { unrouted } from '../../core/http/unrouted.ts';
import { exportSession, exportSessions, MISSING_ID, NO_DATABASE, NO_SESSION, NOT_LOADED, ping } from './contract.ts';
import { chunksOf, held } from './hold.ts';
import { line } from './line.ts';
import { manifest } from './manifest.ts';
import { ExportLine } from './model.ts';
import { type ExportedRows, type ExportLimits, LIMITS, readSessions, sessionsIn } from './store.ts';
import { type Detail, sessionFilename, windowFilename, windowOf } from './window.ts';

/** How much of the export of one session is held back before anything is sent. */
export const HOLD_BYTES = 8 * 1024 * 1024;

type Deps = {
  /** Milliseconds since 1970. */
  now: () => number;
  /** Held back of the export of one session. */
  holdBytes: number;
  limits?: ExportLimits;
};

type AppEnv = { Bindings: Env; Variables: { requestId: string } };
type RequestContext = Context<AppEnv>;

export function exportApp({ now, holdBytes, limits = LIMITS }: Deps) {
  const app = new OpenAPIHono<AppEnv>({
    defaultHook: (result, c) => {
      if (result.success) return;
      const [issue] = result.error.issues;
      const where = `${result.target === 'param' ? 'path' : 'query'}: "${issue?.path.join('.')}"`;
      return problem(c, 400, 'bad-request', `Cannot read the ${where} ${issue?.message}`);
    },
  });
  app.use(requestIds());
  app.use(refuseNul());
  app.use(knownQuery(app));
  app.openAPIRegistry.register('ExportLine', ExportLine); // the stream is text, so no schema refers to the shape of a line

  app.openapi(ping, (c) => c.json({ status: 'ok' as const, cassette: manifest.cassette.name }, 200));

  app.openapi(exportSessions, async (c) => {
    const { since, until, detail } = c.req.valid('query');
    const { DB } = c.env;
    if (!DB) return problem(c, 501, 'no-database', NO_DATABASE);
    const at = now();
    const window = windowOf({ since, until }, at);
    const filename = windowFilename(window, since !== null || until !== null, detail, at);
    const sessions = async function* (): AsyncGenerator<ExportedRows, void> {
      yield* readSessions(DB, await sessionsIn(DB, window), detail, limits);
    };
    const response = await exportResponse(c, sessions(), { detail, filename, holdBytes: 1 });
    return response ?? c.body('', 200, headFor(filename));
  });

  app.openapi(exportSession, async (c) => {
    const { id } = c.req.valid('param');
    const { detail } = c.req.valid('query');
    const { DB } = c.env;
    if (!DB) return problem(c, 501, 'no-database', NO_DATABASE);
    const options = { detail, filename: sessionFilename(id, detail, now()), holdBytes };
    const response = await exportResponse(c, readSessions(DB, [id], detail, limits), options);
    return response ?? problem(c, 404, 'session-unknown', NO_SESSION);
  });
  app.get('/api/export/sessions/', (c) => problem(c, 400, 'bad-request', MISSING_ID));

  app.route(
    '/',
    documentApp(() => ({ ...contractOf(app, ABOUT), 'x-svc-cassette': manifest }), {}),
  );
  app.notFound(unrouted(app));
  app.onError((error, c) => {
    if (!c.req.raw.signal.aborted) logFailure(c, error);
    return problem(c, 500, 'export-failed', NOT_LOADED);
  });
  return app;
}

const ABOUT = { title: manifest.cassette.display_name, version: manifest.cassette.version };

type ResponseOptions = { detail: Detail; filename: string; holdBytes: number };

/** Null: there was no session to export. */
async function exportResponse(
  c: RequestContext,
  sessions: AsyncGenerator<ExportedRows, void>,
  options: ResponseOptions,
): Promise<Response | null> {
  const { detail, filename, holdBytes } = options;
  const chunks = chunksOf(linesOf(sessions, detail));
  const { signal } = c.req.raw;
  const failed = (error: unknown) => logFailure(c, error);
  const { whole, rest } = await held(chunks, { bytes: holdBytes, signal, failed });
  if (whole?.byteLength === 0) return null;
  const head = headFor(filename);
  if (whole) return c.body(whole, 200, { ...head, 'content-length': String(whole.byteLength) });
  if (c.req.method !== 'HEAD') return c.body(rest, 200, head);
  await rest.cancel(); // the response to HEAD has no body
  return c.body(null, 200, head);
}

const headFor = (filename: string) => ({
  'content-type': 'application/x-ndjson',
  'content-disposition': `attachment; filename="${filename}"`,
});

async function* linesOf(sessions: AsyncGenerator<ExportedRows, void>, detail: Detail) {
  for await (const session of sessions) yield line(session, detail);
}

/** Logs a failure by its kind, never with the text of an error that may quote what was stored. */
function logFailure(c: RequestContext, error: unknown): void {
  const { name = typeof error, message, sqlstate } = (error ?? {}) as Partial<Error & { sqlstate: string }>;
  const database = name === 'DatabaseError' ? { reason: message, sqlstate } : {};
  c.env.LOG.error({ request_id: c.get('requestId'), error: name, ...database }, 'Cannot finish an export');
}
