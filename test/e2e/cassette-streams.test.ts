/** Does the mount stream, both ways? A real service before a cassette in a process of its own: large answers, endless ones, large bodies. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { cassetteFolder } from '../support/cassette-folder.ts';
import { residentBytes } from '../support/resident.ts';
import { eventually, read } from '../support/serve.ts';
import { onEmbeddedDatabase } from '../support/whole-service.ts';

const MB = 1024 * 1024;
const LINES = 100_000; // of some 1,012 bytes

/** Counts what it is sent, and tells whether a stream of it that nobody reads any more was ended. */
const BEFORE = `
  if (path === '/api/notes/count') {
    let bytes = 0;
    for await (const chunk of request.body ?? []) bytes += chunk.byteLength;
    return json({ bytes });
  }
  if (path === '/api/notes/endless') {
    return new Response(new ReadableStream({
      pull(controller) { controller.enqueue(new Uint8Array(65536)); },
      cancel() { globalThis.ended = true; },
    }), { headers: { 'content-type': 'application/octet-stream' } });
  }
  if (path === '/api/notes/ended') return json({ ended: globalThis.ended === true });
`;

onEmbeddedDatabase('the mount', (test) => {
  let at = '';
  test.before(async ({ service }) => {
    await cassetteFolder({ name: 'notes', before: BEFORE }, join(service.folder, 'notes'));
    const list = { cassettes: [{ name: 'my-notes', source: './notes' }] };
    await writeFile(join(service.folder, 'cassette.manifest.json'), JSON.stringify(list));
    at = `${service.api}/v1/cassettes/my-notes`;
    await eventually('it is in', async () => (await fetch(`${at}/hello`)).ok);
  });

  test('100 MB of NDJSON pass as they are made, in memory that does not grow with them', async ({ service }) => {
    for await (const _ of (await fetch(`${at}/lines?count=20000`)).body ?? []); // what grows once has grown
    const before = residentBytes(service.processes().service);
    let most = 0;
    let bytes = 0;
    let chunks = 0;
    const response = await fetch(`${at}/lines?count=${LINES}`);
    assert.is(response.headers.get('content-type'), 'application/x-ndjson');
    assert.is(response.headers.get('content-length'), null);
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (++chunks % 200 === 0) most = Math.max(most, residentBytes(service.processes().service));
    }
    assert.is(bytes, LINES * 1012);
    assert.ok(chunks > 200, `${chunks} chunks`);
    assert.ok(most - before < 64 * MB, `grew by ${Math.round((most - before) / MB)} MiB`);
  });

  test('a reader that takes nothing is waited for; nothing is made ahead of him', async ({ service }) => {
    const before = residentBytes(service.processes().service);
    const reader = (await fetch(`${at}/endless`)).body?.getReader();
    assert.ok(((await reader?.read())?.value?.byteLength ?? 0) > 0);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const grown = residentBytes(service.processes().service) - before;
    assert.ok(grown < 64 * MB, `grew by ${Math.round(grown / MB)} MiB`);
    await reader?.cancel();
    await eventually(
      'the cassette hears that he left',
      async () => (await read<{ ended: boolean }>(`${at}/ended`)).ended,
    );
  });

  test('events come one by one, and end when the reader leaves', async () => {
    const response = await fetch(`${at}/ticks`);
    assert.is(response.headers.get('content-type'), 'text/event-stream');
    const reader = response.body?.getReader();
    let received = '';
    while (received.split('data: tick').length < 4) received += new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
  });

  test('a body of 30 MiB arrives whole; one that is larger than it may be is 413', async () => {
    const sent = await fetch(`${at}/count`, { method: 'POST', body: new Uint8Array(30 * MB) });
    assert.equal(await sent.json(), { bytes: 30 * MB });
    const refused = await fetch(`${at}/count`, { method: 'POST', body: new Uint8Array(33 * MB) }).catch(() => null);
    if (refused) assert.is(refused.status, 413); // or the connection is cut while it is still sending
    assert.is((await fetch(`${at}/hello`)).status, 200);
  });

  test.run();
});
