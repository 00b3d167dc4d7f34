/** Whether `svc serve` offers to send transcripts: once, where there are any that were never sent. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { transcriptsOffer } from '../../../../core/cli/serve/banner.ts';
import { unsentTranscripts } from '../../../../core/cli/sync/offer.ts';

type Context = { home: string };
const test = suite<Context>('offer of transcripts');

test.before.each(async (context) => {
  context.home = await mkdtemp(join(tmpdir(), 'svc-offer-'));
});
test.after.each(({ home }) => rm(home, { recursive: true }));

const put = async (home: string, path: string, content: string) => {
  await mkdir(join(home, path, '..'), { recursive: true });
  await writeFile(join(home, path), content);
};

test('transcripts are offered once, with how many there are', async ({ home }) => {
  const look = () => unsentTranscripts(join(home, '.svc'), { env: {}, home });
  await put(home, '.claude/projects/p/empty.jsonl', '');
  assert.is(await look(), null);
  await put(home, '.claude/projects/p/a.jsonl', '{}\n');
  await put(home, '.claude/projects/p/b.jsonl', '{}\n');
  await put(home, '.codex/sessions/2026/01/01/rollout-1.jsonl', '{}\n');
  const found = await look();
  assert.equal(found, { files: 3, harnesses: ['Claude Code', 'Codex'], isAll: true });
  assert.is(await look(), null);
  const text = stripVTControlCharacters(found ? transcriptsOffer(found) : '');
  assert.match(
    text,
    /^\nEarlier conversations are on this machine: 3 transcripts of Claude Code and Codex\.\n {2}send them +svc sync/,
  );
});

test('nothing is offered after the first sending', async ({ home }) => {
  await put(home, '.claude/projects/p/a.jsonl', '{}\n');
  await put(home, '.svc/sync/a.json', '{}');
  assert.is(await unsentTranscripts(join(home, '.svc'), { env: {}, home }), null);
});

test.run();
