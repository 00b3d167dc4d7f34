/** GET /swagger: the contract to look at and try out, from files of our own, so that it works without the web. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Refusal } from '../errors.ts';
import { routes } from '../http/routes.ts';

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>svc: read API</title>
<link rel="icon" href="swagger/favicon-32x32.png">
<link rel="stylesheet" href="swagger/swagger-ui.css">
<div id="contract"></div>
<script src="swagger/swagger-ui-bundle.js"></script>
<script src="swagger/start.js"></script>
</html>
`;

const START = `SwaggerUIBundle({ url: 'openapi', dom_id: '#contract', deepLinking: true, validatorUrl: null });
`;

/** Nothing but our own files may be loaded, and nobody else may frame the page. */
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

const TYPES: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

export const swaggerApp = () =>
  routes()
    .get('/swagger', (c) => {
      c.header('content-security-policy', POLICY);
      return c.html(PAGE);
    })
    .get('/swagger/start.js', (c) => c.body(START, 200, { 'content-type': 'text/javascript; charset=utf-8' }))
    .get('/swagger/:file', async (c) => {
      const type = TYPES[c.req.param('file')];
      if (!type) throw new Refusal('route-unknown', 'Cannot find the path: nothing is served there');
      const bytes = await readFile(join(swaggerFolder(), c.req.param('file')));
      return c.body(new Uint8Array(bytes), 200, { 'content-type': type, 'cache-control': 'max-age=3600' });
    });

const swaggerFolder = () => dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
