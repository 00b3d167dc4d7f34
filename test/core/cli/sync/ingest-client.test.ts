/** Whoever answers at the ingest address is an ingest API of ours, or gets no transcript and names no file. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sync } from '../../../../core/cli/sync/sync.ts';
import { loadConfig } from '../../../../core/config/load.ts';
import { OperatorError } from '../../../../core/errors.ts';

const test = suite('the ingest client');

/** What `svc sync` throws with a transcript to send, where something answers with this installation; null: nothing. */
async function thrownBy(home: string, installation: string): Promise<unknown> {
  const server = createServer(async (request, response) => {
    await request.resume().toArray();
    response.setHeader('x-svc-installation', installation).setHeader('content-type', 'application/json');
    const isPing = request.url === '/ping';
    response.writeHead(isPing ? 200 : 202).end(isPing ? '"pong"' : '{"session_id":"s","deduped":false}');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const flags = { 'ingest.listen': `127.0.0.1:${(server.address() as AddressInfo).port}` };
  const io = { out: () => {}, err: () => {}, env: {}, cwd: home, home };
  const options = { json: true, dryRun: false, sinceDays: null, evenRecorded: true, isTerminal: false };
  try {
    await sync(loadConfig({ flags, env: {}, cwd: home, home }), options, io);
    return null;
  } catch (error) {
    return error;
  } finally {
    server.close();
  }
}

test('an installation that is no id is of another program: it writes no file of its choice', async () => {
  const home = await mkdtemp(join(tmpdir(), 'svc-installation-'));
  try {
    const project = join(home, '.claude/projects/-home-ada');
    const settings = join(home, '.claude/settings.json');
    await mkdir(project, { recursive: true });
    const record = { type: 'user', sessionId: 's', uuid: 'u', message: { role: 'user', content: 'Moor at night' } };
    await writeFile(join(project, '5d0f8f2e-1f4a-4a35-9d3e-0f6a0c1b2d3e.jsonl'), `${JSON.stringify(record)}\n`);
    await writeFile(settings, '{}');
    for (const installation of ['../../.claude/settings', 'a'.repeat(31), 'A'.repeat(32), `${'a'.repeat(32)}/x`]) {
      const error = await thrownBy(home, installation);
      assert.instance(error, OperatorError, installation);
      assert.match((error as OperatorError).message, /^Cannot find the service: another program answers at /);
    }
    assert.is(await readFile(settings, 'utf8'), '{}');
    assert.is(await thrownBy(home, 'a'.repeat(32)), null);
    assert.equal(await readdir(join(home, '.svc/sync')), [`${'a'.repeat(32)}.json`]);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

test.run();
