/** Which transcripts does `svc start codex` send, before an ingest listener of the test? */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newRun } from '../../../../core/cli/start/envelope.ts';
import { followRun } from '../../../../core/cli/start/follow-run.ts';
import { startedHarness } from '../../../../core/cli/start/harness/harnesses.ts';
import { loadConfig } from '../../../../core/config/load.ts';
import { serveIngest } from '../../../ingest/stand.ts';
import type { Json } from '../../../support/read-api.ts';

const test = suite('the transcripts of a run of Codex');
let home = '';
test.before.each(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-follow-run-')));
});
test.after.each(() => rmSync(home, { recursive: true }));

const rollout = (name: string, cwd: string) => {
  const folder = join(home, '.codex/sessions/2026/11/30');
  mkdirSync(folder, { recursive: true });
  const meta = { type: 'session_meta', payload: { id: name, cwd } };
  writeFileSync(join(folder, `rollout-2026-11-30T10-00-00-${name}.jsonl`), `${JSON.stringify(meta)}\n`);
};

/** The sessions that a run with these arguments sends. */
async function sent(args: readonly string[]): Promise<string[]> {
  const listener = await serveIngest({ installation: () => 'a'.repeat(32) });
  try {
    const cwd = join(home, 'project');
    mkdirSync(cwd, { recursive: true });
    const end = followRun(
      {
        ...{
          harness: startedHarness('codex'),
          args,
          run: newRun(),
          loaded: loadConfig({ flags: {}, env: {}, cwd, home }),
        },
        service: {
          ...{ proxy: 'http://127.0.0.1:9', api: null, ingest: listener.address, answers: false, isElsewhere: false },
          ...{ isShared: true, leave: () => {} },
        },
      },
      { out: () => {}, err: () => {}, env: {}, cwd, home },
      (sentence) => assert.unreachable(sentence),
    );
    rollout('11111111-1111-4111-8111-111111111111', cwd);
    rollout('22222222-2222-4222-8222-222222222222', join(home, 'other'));
    writeFileSync(join(home, '.codex/sessions/2026/11/30/rollout-empty.jsonl'), '');
    await end();
    return listener.taken.map(({ body }) => {
      const { session } = JSON.parse(Buffer.from(body).toString('utf8')) as Json;
      return session.harness_session_id.slice(0, 4);
    });
  } finally {
    await listener.close(0);
  }
}

test('those of its folder, and of no other project that is worked on meanwhile', async () => {
  assert.equal(await sent([]), ['1111']);
});

test('of the folder that an argument names', async () => {
  assert.equal(await sent(['exec', '-C', '../other']), ['2222']);
});

test.run();
