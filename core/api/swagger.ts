/** GET /swagger: the contract as a page, to read and try out. All files are served from here, so that it works offline. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createRoute, z } from '@hono/zod-openapi';
import { Failure, guardFailures, json, routes } from '../http/routes.ts';

/** Without 401: the page is the same for everybody, and people enter their token on it. */
const { 401: _, ...open } = guardFailures;

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>svc: read API</title>
<link rel="icon" href="swagger/favicon-32x32.png">
<link rel="stylesheet" href="swagger/swagger-ui.css">
<form id="token" hidden>
<label>The token of this service, kept for this tab: <input type="password" autocomplete="off" required></label>
<button>Show the contract</button>
</form>
<div id="contract"></div>
<script src="swagger/swagger-ui-bundle.js"></script>
<script src="swagger/start.js"></script>
</html>
`;

/** Where the service requires a token, the page asks for it once, keeps it for the tab, and sends it to this service alone. */
const START = `const KEPT = 'svc-token';
const form = document.querySelector('#token');

function show(spec, token) {
  form.hidden = true;
  SwaggerUIBundle({
    url: 'openapi',
    spec,
    dom_id: '#contract',
    deepLinking: true,
    validatorUrl: null,
    requestInterceptor: (request) => {
      const ours = new URL(request.url, location.href).origin === location.origin;
      if (token && ours && !request.headers.Authorization) request.headers.Authorization = 'Bearer ' + token;
      return request;
    },
  });
}

async function start() {
  const token = sessionStorage.getItem(KEPT) || '';
  const answer = await fetch('openapi', { headers: token ? { Authorization: 'Bearer ' + token } : {} });
  const body = await answer.json();
  if (answer.status !== 401) return show(body, token);
  form.hidden = false;
  form.querySelector('input').focus();
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEPT, form.querySelector('input').value.trim());
  form.reset();
  start();
});
start();
`;

/** Only files of this service may be loaded, and no site may frame the page. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const TYPES = {
  'favicon-32x32.png': 'image/png',
  'start.js': 'text/javascript; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
} as const;
type File = keyof typeof TYPES;

const text = (example: string) => ({ schema: z.string().openapi({ examples: [example] }) });

const readPage = createRoute({
  method: 'get',
  path: '/swagger',
  operationId: 'readContractPage',
  tags: ['service'],
  summary: 'This contract as a page, to look at and try out; asks for the token where one is wanted',
  security: [],
  responses: {
    200: {
      description: 'The page',
      content: { 'text/html': text('<!doctype html>') },
      headers: {
        'content-security-policy': {
          schema: { const: POLICY },
          required: true,
          description: 'Its own files and nothing else',
        },
      },
    },
    ...open,
  },
});

const readPageFile = createRoute({
  method: 'get',
  path: '/swagger/{file}',
  operationId: 'readContractPageFile',
  tags: ['service'],
  summary: 'What the page of the contract is made of',
  security: [],
  request: { params: z.object({ file: z.enum(Object.keys(TYPES) as [File, ...File[]]) }) },
  responses: {
    200: {
      description: 'The file',
      content: {
        'image/png': { schema: z.string().openapi({ format: 'binary' }) },
        'text/css': text('.swagger-ui {}'),
        'text/javascript': text('SwaggerUIBundle({});'),
      },
    },
    404: json(Failure, 'No such file', ['route-unknown', 'Cannot find what the path names: a segment of it is no id']),
    ...open,
  },
});

/** Paths that are served without a token. */
export const SWAGGER_PATHS: readonly string[] = ['/swagger', ...Object.keys(TYPES).map((file) => `/swagger/${file}`)];

export const swaggerApp = () =>
  routes()
    .openapi(readPage, (c) => {
      c.header('content-security-policy', POLICY);
      return c.html(PAGE);
    })
    .openapi(readPageFile, async (c) => {
      const { file } = c.req.valid('param');
      const bytes = file === 'start.js' ? START : new Uint8Array(await readFile(join(swaggerFolder(), file)));
      return c.body(bytes, 200, { 'content-type': TYPES[file], 'cache-control': 'max-age=3600' }) as never;
    });

const swaggerFolder = () => dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
