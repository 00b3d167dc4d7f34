/** The export cassette over a test's database, with a clock and limits of the test's own, and what it said. */
import { Readable } from 'node:stream';
import ndjson from 'ndjson';
import { manifest } from '../../../cassettes/export/manifest.ts';
import { exportApp } from '../../../cassettes/export/routes.ts';
import type { ExportLimits } from '../../../cassettes/export/store.ts';
import type { Db, Env } from '../../../core/cassette/contract.ts';
import { cassettesOf, furnished } from '../../support/cassette-database.ts';
import type { TestDatabase } from '../../support/databases.ts';
import type { Json } from '../../support/read-api.ts';

/** Noon of 2026-11-21. */
export const NOON = Date.parse('2026-11-21T12:00:00Z');

export type Given = {
  now?: number;
  holdBytes?: number;
  limits?: ExportLimits;
  /** Stands between the cassette and the database. */
  through?: (db: Db) => Db;
};

export async function exporting(database: TestDatabase) {
  const cassettes = cassettesOf(database);
  const db = await furnished(cassettes, 'export', { views: manifest.depends.views });
  return {
    ask(path: string, given: Given = {}, init: RequestInit = {}): Promise<Response> {
      return Promise.resolve(appOf(given).fetch(requestOf(path, init), envOf(db, given).env));
    },
    /** What it would be served as, and the lines of its log. */
    served(given: Given = {}) {
      const { env, logged } = envOf(db, given);
      const app = appOf(given);
      return { fetch: (request: Request) => app.fetch(request, env), logged };
    },
    close: () => cassettes.close(),
  };
}

const appOf = ({ now = NOON, holdBytes = 8 * 1024 * 1024, limits }: Given) =>
  exportApp({ now: () => now, holdBytes, ...(limits ? { limits } : {}) });

const requestOf = (path: string, init: RequestInit) => new Request(`http://cassette/api/export${path}`, init);

function envOf(db: Db, { through = (one) => one }: Given): { env: Env; logged: Json[] } {
  const logged: Json[] = [];
  const heard = (fields: Json, message: string) => void logged.push({ ...fields, message });
  return {
    env: { DB: through(db), CONFIG: {}, LOG: { debug: heard, info: heard, warn: heard, error: heard } },
    logged,
  };
}

/** Every line, as a reader of newline-delimited JSON has it; throws at one that is none. */
export async function linesOf(answer: Response): Promise<Json[]> {
  const lines: Json[] = [];
  for await (const line of Readable.from([await answer.text()]).pipe(ndjson.parse({ strict: true }))) lines.push(line);
  return lines;
}

export const filenameOf = (answer: Response): string =>
  /^attachment; filename="([\w.-]+)"$/.exec(answer.headers.get('content-disposition') ?? '')?.[1] ?? 'none';
