/** A pasted secret passes the proxy, is embedded and purged, and is looked for in every file of the embedded service. */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { filesHolding } from '../support/files-holding.ts';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { MODELS } from '../support/search.ts';
import { eventually, read, removeFolder, type Service, startService } from '../support/serve.ts';
import { startUpstream } from '../support/upstream.ts';

// a word of its own, so that an index of words holds it as it stands
const SECRET = 'qxjnb24hunter2zzyzx';

type Sessions = { items: { id: string; rollup: { turn_count: number } }[] };

/** Files below a folder that hold the secret, by their names there. */
const holding = (folder: string): string[] => filesHolding(folder, SECRET);

const test = suite('purge of the whole service');

test('no file of the embedded database holds a purged secret, and the journal loses it with the next start', async () => {
  const folder = await folderWithDatabase();
  const answer = JSON.stringify({
    model: 'llama3.2',
    message: { role: 'assistant', content: `I keep ${SECRET}` },
    done: true,
  });
  const upstream = await startUpstream([{ rawHeaders: ['content-type', 'application/json'], body: answer }]);
  let service: Service | null = null;
  const start = async () => {
    service = await startService(folder, {
      SVC_PROXY_UPSTREAM: upstream.url,
      SVC_CASSETTES_BUILT_IN: 'true',
      SVC_CASSETTE_SEARCH_MODELS_FOLDER: MODELS,
    });
    return service;
  };
  try {
    const { proxy, api } = await start();
    const reply = await fetch(`${proxy}/api/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'llama3.2',
        stream: false,
        messages: [{ role: 'user', content: `My key is ${SECRET}` }],
      }),
    });
    await reply.text();
    const id = await eventually('the session', async () => {
      const { items } = await read<Sessions>(`${api}/v1/sessions`);
      return items[0]?.rollup.turn_count ? items[0].id : null;
    });
    await eventually(
      'the embedding',
      async () => {
        const response = await fetch(`${api}/v1/cassettes/search/status`);
        return response.ok && ((await response.json()) as { embedded: number }).embedded === 1;
      },
      120_000,
    );
    const purged = await fetch(`${api}/v1/admin/sessions/${id}/purge`, { method: 'POST' });
    const report = (await purged.json()) as { raw_turns: number; rewritten: boolean };
    assert.equal([purged.status, report.raw_turns, report.rewritten], [200, 1, true]);
    assert.equal(holding(join(folder, '.svc', 'data')), [], 'while it runs');

    const { stop } = service as unknown as Service;
    assert.is(await stop(), 0);
    assert.equal(holding(join(folder, '.svc', 'data')), [], 'after it has stopped');
    const again = await start();
    await eventually(
      'the journal of the run before to be deleted',
      async () => holding(join(folder, '.svc')).length === 0,
    );
    assert.equal((await read<Sessions>(`${again.api}/v1/sessions`)).items, []);
    assert.is(await again.stop(), 0);
    assert.equal(holding(folder), []);
    service = null;
  } finally {
    await (service as Service | null)?.kill();
    await upstream.close();
    await removeFolder(folder);
  }
});

test.run();
