/** The browser UI's documents and files. Plain Hono, so they are no part of the contract. */
import { Hono } from 'hono';
import type { Pages } from '../api/app.ts';
import { acceptedCoding } from '../http/compress.ts';
import { problem } from '../http/problem.ts';
import type { HttpEnv } from '../http/routes.ts';
import type { Assets } from './assets.ts';
import { OUTLINE_START } from './outline-start.ts';
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
      const ahead = wantsToken ? [] : readsOf(c.req.path, new URL(c.req.url).search !== '');
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

/** What the page of a session reads first: its facts and its outline, of which only the short beginning where the address leads to that. */
function readsOf(path: string, hasQuery: boolean): string[] {
  const [, id, rest = ''] = /^\/sessions\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(\/.*)?$/.exec(path) ?? [];
  if (id === undefined) return [];
  const session = `/v1/sessions/${id}`;
  if (rest.startsWith('/calls/')) return [`${session}/outline`];
  const isStart = !hasQuery && ['', '/', '/talk'].includes(rest);
  const query = isStart ? `?${new URLSearchParams(OUTLINE_START).toString().replace('&', '&amp;')}` : '';
  return [`${session}/outline${query}`, session];
}
