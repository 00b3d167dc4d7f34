/** `svc sync` beside a running service: the transcripts of a home become sessions, however often they are sent. */
import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { claudeFolder, writeFolder } from '../support/claude-folder.ts';
import { fixtureFolder } from '../support/fixtures.ts';
import type { Json } from '../support/read-api.ts';
import { emptyFolder, eventually, read, removeFolder, type Service, startService, svc } from '../support/serve.ts';

const test = suite('svc sync beside a service');

let folder = '';
let service: Service;
const files = claudeFolder(5, { sessions: 4 });

test.before(async () => {
  folder = await emptyFolder();
  await writeFolder(join(folder, '.claude'), files);
  const transcripts = fixtureFolder('transcripts');
  if (transcripts) {
    await cp(join(transcripts, 'claude'), join(folder, '.claude/projects/fixtures'), { recursive: true });
    await mkdir(join(folder, '.codex'), { recursive: true });
    await cp(join(transcripts, 'codex'), join(folder, '.codex/sessions'), { recursive: true });
  }
  service = await startService(folder);
});
test.after(async () => {
  await service?.stop();
  await removeFolder(folder);
});

const sync = async (): Promise<Json> => {
  const { status, out, err } = await svc(folder, ['sync', '--json']);
  assert.equal([status, err], [0, '']);
  return JSON.parse(out);
};
const counts = ({ harnesses }: Json) => {
  const sum = (key: string) => harnesses.reduce((total: number, one: Json) => total + one[key], 0);
  return { files: sum('files'), sent: sum('sent'), unchanged: sum('unchanged') };
};
const stored = async () => (await read<Json>(`${service.api}/v1/admin/status`)).counts.raw_turns as number;

test('the transcripts of a home are sent once, and their sessions have the tokens that the files have', async () => {
  const first = await sync();
  const { files: found, sent } = counts(first);
  assert.ok(found >= files.length && sent === found, JSON.stringify(first));
  assert.equal(counts(await sync()), { files: found, sent: 0, unchanged: found });

  const before = await stored();
  assert.is(before, found);
  await rm(join(folder, '.svc/sync'), { recursive: true });
  assert.equal(counts(await sync()), { files: found, sent: found, unchanged: 0 });
  assert.is(await stored(), before, 'nothing is stored twice');

  await eventually(
    'all is derived',
    async () => (await read<Json>(`${service.api}/v1/admin/status`)).derive.queued === 0,
  );
  const { items } = await read<Json>(`${service.api}/v1/sessions?limit=200`);
  const output = items.reduce((sum: number, { rollup }: Json) => sum + rollup.usage.output_tokens, 0);
  assert.is(output, outputTokens() + (fixtureFolder('transcripts') ? FIXTURE_OUTPUT : 0));
});

/** Of the generated files, each answer once, wherever it is copied. */
function outputTokens(): number {
  const answers = new Map<string, number>();
  for (const { records } of files)
    for (const { message } of records as Json[])
      if (message.usage) answers.set(message.id, message.usage.output_tokens);
  return [...answers.values()].reduce((sum, tokens) => sum + tokens, 0);
}
/** Six answers of Codex and five of Claude Code. */
const FIXTURE_OUTPUT = 94;

test('the start had offered to send them', async () => {
  await eventually('the offer', async () =>
    /Earlier conversations are on this machine: \d+ transcripts of Claude Code/.test(service.printed()),
  );
});

test.run();
