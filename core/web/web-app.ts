/** The browser UI's documents and files. Plain Hono, so they are no part of the contract. */
import { Hono } from 'hono';
import type { Pages } from '../api/app.ts';
import { acceptedCoding } from '../http/compress.ts';
import { problem } from '../http/problem.ts';
import type { HttpEnv } from '../http/routes.ts';
import type { Assets } from './assets.ts';
import { OUTLINE_AROUND, OUTLINE_START, SESSIONS_START } from './first-reads.ts';
import { DOCUMENT_HEADERS, FILE_HEADERS } from './policy.ts';
import { shell } from './shell.ts';

type Deps = {
  assets: Assets;
  /** The prefix of a reverse proxy, as `/svc`; '': none. */
  basePath: string;
  version: string;
  /** Whether the read API requires a token. */
  wantsToken: boolean;
};

/** Each is served as the same document, whose script reads the address. */
const DOCUMENTS = [
  ...['/', '/sessions', '/sessions/*', '/spans/*', '/spend', '/find', '/compare'],
  ...['/skills', '/skills/*', '/cassettes', '/health', '/help'],
];
const FILES = '/ui/';

/** The pages that are opened most, by the path of their document: they are loaded together with the script that would ask for them. */
const PAGES: Readonly<Record<string, string>> = {
  '/': 'pages/sessions/sessions-page.tsx',
  '/sessions': 'pages/sessions/sessions-page.tsx',
  '/sessions/*': 'pages/session/session-page.tsx',
};

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
};

export function webApp({ assets, basePath, version, wantsToken }: Deps): Pages {
  const app = new Hono<HttpEnv>();
  for (const path of DOCUMENTS)
    app.get(path, async (c) => {
      const manifest = await assets.manifest();
      if (manifest === null) return problem(c, 503, 'web-ui-not-built', NOT_BUILT);
      const ahead = wantsToken ? [] : readsOf(c.req.path, new URL(c.req.url).searchParams);
      const page = PAGES[path] ?? null;
      return c.body(shell({ manifest, basePath, version, page, ahead }), 200, DOCUMENT_HEADERS);
    });
  app.get(`${FILES}:name`, async (c) => {
    const { name } = c.req.param();
    const coding = acceptedCoding(c.req.header('accept-encoding'));
    const bytes = await assets.read(name, coding);
    if (bytes === null)
      return problem(c, 404, 'route-unknown', 'Cannot find the file: this build has none of that name');
    const type = TYPES[name.replace(/^.*\./, '')] ?? 'application/octet-stream';
    return c.body(bytes, 200, {
      ...FILE_HEADERS,
      'content-type': type,
      'content-length': String(bytes.byteLength),
      vary: 'accept-encoding',
      ...(coding && { 'content-encoding': coding }),
    });
  });
  return { app, isDocument, isOpen: (path) => isDocument(path) || path.startsWith(FILES) };
}

const NOT_BUILT = "Cannot show the web UI: it was never built; run 'npm run build'";

const isDocument = (path: string): boolean =>
  DOCUMENTS.some((document) => (document.endsWith('/*') ? path.startsWith(document.slice(0, -1)) : path === document));

/**
 * What a page reads first: the list of sessions, or the facts and the outline of one. Of the outline that is only a short part where the
 * address leads to its beginning or to one span. An address with filters is read by the script, which puts them in an order of its own.
 */
function readsOf(path: string, query: URLSearchParams): string[] {
  if (path === '/' || path === '/sessions')
    return query.size > 0 ? [] : [`/v1/browse/sessions?${searchOf(SESSIONS_START)}`];
  const [, id, rest = ''] = SESSION.exec(path) ?? [];
  if (id === undefined) return [];
  const session = `/v1/sessions/${id}`;
  if (rest.startsWith('/calls/')) return [`${session}/outline`];
  const isTalk = ['', '/', '/talk'].includes(rest);
  const part = isTalk ? firstPart(query) : null;
  return [`${session}/outline${part ? `?${searchOf(part)}` : ''}`, session];
}

/** As the page itself decides (client/pages/session/session-page.tsx). */
function firstPart(query: URLSearchParams): Record<string, string> | null {
  if (query.size === 0) return OUTLINE_START;
  const span = query.get('span') ?? '';
  return SPAN.test(span) ? { around: span, ...OUTLINE_AROUND } : null;
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const SESSION = new RegExp(`^/sessions/(${UUID})(/.*)?$`);
const SPAN = new RegExp(`^${UUID}$`);

const searchOf = (parameters: Record<string, string>): string =>
  new URLSearchParams(parameters).toString().replace('&', '&amp;');
