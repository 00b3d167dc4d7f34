/** A cassette on disk, as an author would have it: one plain module that uses every binding, and what a test changes in it. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Manifest } from '../../core/cassette/contract.ts';
import { cassetteManifest } from './running-cassette.ts';

export type Made = {
  name?: string;
  manifest?: Partial<Manifest> | Record<string, unknown>;
  /** Instead of the whole manifest. */
  wholeManifest?: unknown;
  /** Changes its OpenAPI document. */
  document?: (document: Record<string, unknown>) => unknown;
  migrations?: { name: string; sql: string }[];
  /** JavaScript at the top of the module. */
  top?: string;
  /** JavaScript of the first lines of `fetch(request, env, context)`; `path` is defined there. */
  before?: string;
  /** The whole entry. */
  module?: string;
};

export const emptyCassetteFolder = () => mkdtemp(join(tmpdir(), 'svc-cassette-'));

/** @returns the folder; `source` of an entry */
export async function cassetteFolder(made: Made = {}, folder?: string): Promise<string> {
  const at = folder ?? (await emptyCassetteFolder());
  await mkdir(at, { recursive: true });
  await writeFile(
    join(at, 'package.json'),
    JSON.stringify({ name: made.name ?? 'notes', version: '1.0.0', type: 'module', main: 'cassette.js' }),
  );
  await writeFile(join(at, 'cassette.js'), made.module ?? moduleOf(made));
  return at;
}
export const removeCassetteFolder = (folder: string) => rm(folder, { recursive: true, force: true });

export const openapiOf = (name: string, manifest: unknown): Record<string, unknown> => {
  const object = { type: 'object', additionalProperties: true };
  const answer = (schema: object) => ({
    200: { description: 'Answered', content: { 'application/json': { schema } } },
  });
  return {
    openapi: '3.1.0',
    info: { title: name, version: '1.0.0' },
    'x-svc-cassette': manifest,
    paths: {
      [`/api/${name}/hello`]: {
        get: {
          operationId: 'hello',
          responses: answer({
            type: 'object',
            properties: { hello: { $ref: '#/components/schemas/Who' }, headers: object },
          }),
        },
      },
      [`/api/${name}/lines`]: {
        get: {
          operationId: 'lines',
          parameters: [{ name: 'count', in: 'query', schema: { type: 'integer' } }],
          responses: { 200: { description: 'Lines', content: { 'application/x-ndjson': {} } } },
        },
      },
      [`/api/${name}/echo`]: {
        post: {
          operationId: 'echo',
          summary: 'Says what it was told',
          'x-svc-mcp': { name: 'echo', annotations: { readOnlyHint: true } },
          requestBody: { required: true, content: { 'application/json': { schema: object } } },
          responses: {
            ...answer(object),
            400: { description: 'No object', content: { 'application/json': { schema: object } } },
          },
        },
      },
    },
    components: { schemas: { Who: { type: 'string' } } },
  };
};

const moduleOf = ({
  name = 'notes',
  manifest,
  wholeManifest,
  document,
  migrations = [],
  top = '',
  before = '',
}: Made): string => {
  const declaredManifest = wholeManifest ?? cassetteManifest(name, manifest as Partial<Manifest>);
  const openapi = openapiOf(name, declaredManifest);
  return `
${top}
const manifest = ${JSON.stringify(declaredManifest)};
const openapi = ${JSON.stringify(document ? document(openapi) : openapi)};
const migrations = ${JSON.stringify(migrations)};
let runs = 0;
const json = (value, status = 200) => new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json' } });
export default {
  manifest,
  migrations,
  async fetch(request, env, context) {
    const { pathname: path, searchParams } = new URL(request.url);
    ${before}
    if (path === '/ping') return json('pong');
    if (path === '/openapi') return json(openapi);
    if (path === '/api/${name}/hello') return json({ hello: env.CONFIG.greeting ?? 'world', headers: Object.fromEntries(request.headers) });
    if (path === '/api/${name}/runs') return json({ runs });
    if (path === '/api/${name}/echo') {
      const said = await request.json().catch(() => null);
      if (typeof said !== 'object' || said === null || Array.isArray(said)) return json({ error: 'Cannot say that: it is no JSON object' }, 400);
      return json({ said });
    }
    if (path === '/api/${name}/rows') return json(await env.DB.query(searchParams.get('sql'), searchParams.getAll('p')).catch((error) => ({ error: error.message, sqlstate: error.sqlstate })));
    if (path === '/api/${name}/core') {
      const answer = await env.CORE.fetch(searchParams.get('path'));
      return new Response(answer.body, { status: answer.status, headers: { 'content-type': answer.headers.get('content-type') ?? '' } });
    }
    if (path === '/api/${name}/env') return json({ bindings: Object.keys(env).sort(), config: env.CONFIG });
    if (path === '/api/${name}/lines') {
      let left = Number(searchParams.get('count') ?? 3);
      const line = new TextEncoder().encode(JSON.stringify({ text: 'x'.repeat(1000) }) + '\\n');
      return new Response(new ReadableStream({
        pull(controller) { left-- > 0 ? controller.enqueue(line) : controller.close(); },
      }, { highWaterMark: 1 }), { headers: { 'content-type': 'application/x-ndjson' } });
    }
    if (path === '/api/${name}/ticks') {
      let timer;
      return new Response(new ReadableStream({
        start(controller) { timer = setInterval(() => controller.enqueue(new TextEncoder().encode('data: tick\\n\\n')), 20); },
        cancel() { clearInterval(timer); },
      }), { headers: { 'content-type': 'text/event-stream' } });
    }
    return json({ error: 'nothing here' }, 404);
  },
  async scheduled(event, env, context) { runs += 1; },
};
`;
};
