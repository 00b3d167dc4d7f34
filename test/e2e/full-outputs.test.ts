/** A service whose stdout and stderr are files on a full disk: neither its banner nor its log ends it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';
import { eventually, read, removeFolder, SVC } from '../support/serve.ts';

const test = suite('full outputs');
const START_MS = 180_000;

/** Where it listens, when all of it does: what it prints is lost. */
const addressesIn = (folder: string): Promise<{ proxy: string; api: string }> =>
  eventually(
    'it to be up',
    async () => {
      const text = await readFile(join(folder, '.svc/service.json'), 'utf8').catch(() => '{"processes":[]}');
      const now = JSON.parse(text) as { proxy: string; api: string; processes: { state: string }[] };
      return now.processes.length === 2 && now.processes.every(({ state }) => state === 'up') && now;
    },
    START_MS,
  );

test('it starts, calls pass and are captured, and it stops as ever', async () => {
  const folder = await folderWithDatabase();
  const provider = await startScriptedProvider();
  const full = openSync('/dev/full', 'w'); // refuses every write with ENOSPC
  const child = spawn(process.execPath, [...SVC, 'serve'], {
    cwd: folder,
    env: {
      ...{ PATH: process.env.PATH, HOME: folder, SVC_CASSETTES_BUILT_IN: 'false', SVC_LOG_LEVEL: 'trace' },
      ...{ SVC_PROXY_LISTEN: ':0', SVC_API_LISTEN: ':0', SVC_INGEST_LISTEN: ':0' },
      SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url,
    },
    stdio: ['ignore', full, full],
  });
  const exited = once(child, 'exit').then(([status]) => status as number | null);
  const early = exited.then((status) => Promise.reject(new Error(`it ended with ${status}`)));
  early.catch(() => {});
  try {
    const { proxy, api } = await Promise.race([addressesIn(folder), early]);
    const response = await fetch(`${proxy}/anthropic/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'On a full disk' }] }),
    });
    assert.is(response.status, 200);
    await response.text();
    await eventually('the capture', async () => {
      const { outcomes } = await read<{ outcomes: { captured: number } }>(`${api}/v1/coverage`);
      return outcomes.captured === 1;
    });
    child.kill('SIGTERM');
    assert.is(await exited, 0);
  } finally {
    child.kill('SIGKILL');
    closeSync(full);
    await provider.close();
    await removeFolder(folder);
  }
});

test.run();
