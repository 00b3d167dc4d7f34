/** What was sent is written down while more is sent: saves that overlap lose nothing. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openSentFiles } from '../../../../core/cli/sync/sent-files.ts';
import type { FoundTranscript } from '../../../../core/cli/sync/transcript-source.ts';

const test = suite('sent files');

const found = (path: string) => ({ path, bytes: 10, mtimeMs: 1 }) as FoundTranscript;

test('saves that overlap are made one after the other', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-sent-'));
  try {
    const sent = await openSentFiles(folder, 'one');
    const paths = Array.from({ length: 20 }, (_, n) => `/transcripts/${n}.jsonl`);
    await Promise.all(
      paths.map((path) => {
        sent.note(found(path), { session: path, prefix: null, isWhole: true });
        return sent.save();
      }),
    );
    const again = await openSentFiles(folder, 'one');
    for (const path of paths) assert.ok(again.isSent(found(path)), path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test.run();
