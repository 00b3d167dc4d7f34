/** The checks of an author: one that ends the process of the cassette leaves the checks after it as they are. */
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ConformanceResult, conform } from '../../../core/cassette/conformance.ts';
import { ListEntry } from '../../../core/cassette/list/list.ts';
import { checkCassette } from '../../../core/cli/cassette/check.ts';
import { openLog } from '../../../core/log.ts';
import { cassetteFolder, emptyCassetteFolder, removeCassetteFolder } from '../../support/cassette-folder.ts';

const test = suite('conformance');

test('a route that loops for ever, or ends the process, fails by itself', async () => {
  const route = { get: { responses: { 200: { description: 'Answered' } } } };
  const source = await cassetteFolder({
    document: (document) => ({
      ...document,
      paths: { '/api/notes/loop': route, '/api/notes/exit': route, ...(document.paths as object) },
    }),
    before: `if (path === '/api/notes/loop') for (;;);
      if (path === '/api/notes/exit') process.exit(3);`,
  });
  let output = '';
  const io = { cwd: source, home: source, env: {}, err: () => {}, out: (text: string) => (output += text) };
  assert.is(await checkCassette(source, { config: [] }, io, '0.0.0'), 1);
  const failed = [...stripVTControlCharacters(output).matchAll(/^ {2}no {2}(.*)$/gm)].map(([, what]) => what);
  const asDocumented = (path: string) => `GET /api/notes/${path} answers as its document says`;
  assert.equal(failed, ['loop', 'exit'].map(asDocumented), output);
  await removeCassetteFolder(source);
});

test('a live stream, a stream that stays silent and one of any length are taken by their heads', async () => {
  const route = { get: { responses: { 200: { description: 'Events, as they come' } } } };
  const source = await cassetteFolder({
    document: (document) => ({
      ...document,
      paths: {
        '/api/notes/live': route,
        '/api/notes/silent': route,
        '/api/notes/long': route,
        ...(document.paths as object),
      },
    }),
    before: `const tick = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      const chunk = new Uint8Array(65536);
      if (path === '/api/notes/live')
        return new Response(new ReadableStream({ pull: async (to) => { await tick(20); to.enqueue(chunk.subarray(0, 9)); } }));
      if (path === '/api/notes/silent') return new Response(new ReadableStream({}));
      if (path === '/api/notes/long') return new Response(new ReadableStream({ pull: (to) => to.enqueue(chunk) }));`,
  });
  let output = '';
  const io = { cwd: source, home: source, env: {}, err: () => {}, out: (text: string) => (output += text) };
  assert.is(await checkCassette(source, { config: [] }, io, '0.0.0'), 0, output);
  assert.match(stripVTControlCharacters(output), /^ {2}ok {2}GET \/api\/notes\/silent answers as its document says/m);
  await removeCassetteFolder(source);
});

test('of two faults the one of the earlier step is the reason, and no later step is said to have passed', async () => {
  const source = await cassetteFolder({
    manifest: { depends: { core: 'v9' } },
    document: (document) => JSON.parse(JSON.stringify(document).replace('"name":"echo"', '"name":"no tool"')),
  });
  const parts = {
    ...{ base: source, installed: join(source, 'installed'), databases: null, core: null, environment: {} },
    ...{ tmp: await emptyCassetteFolder(), log: openLog('silent') },
  };
  const grants = { bindings: ['db', 'core'], views: [], extensions: [] };
  const results: ConformanceResult[] = [];
  const entry = ListEntry.parse({ name: 'notes', source, grants });
  assert.is(await conform(entry, parts, (result) => results.push(result)), 'refused');
  const passed = results.filter(({ problems }) => problems.length === 0).map(({ what }) => what);
  assert.is(results.at(-1)?.what, 'its tools can be offered', JSON.stringify(results));
  assert.is(passed.at(-1), 'its OpenAPI document is valid');
  for (const folder of [source, parts.tmp]) await removeCassetteFolder(folder);
});

test.run();
