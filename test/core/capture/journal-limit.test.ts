import { mkdtempSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openJournal } from '../../../core/capture/journal.ts';
import { journalLimit } from '../../../core/capture/journal-limit.ts';
import { silent } from '../../support/journal-calls.ts';

const test = suite('journal limit');
const folder = mkdtempSync(join(tmpdir(), 'svc-test-'));

test('as configured, but never more than nine tenths of the volume', async () => {
  const { blocks, bsize } = await statfs(folder);
  assert.is(await journalLimit(folder, 1_048_576), 1_048_576);
  const most = await journalLimit(folder, Number.MAX_SAFE_INTEGER);
  assert.is(most, Math.floor(blocks * bsize * 0.9));
});

test('a journal keeps to it, and warns of a volume that is smaller than configured', async () => {
  const warnings: unknown[] = [];
  const log = { ...silent, warn: (...args: unknown[]) => void warnings.push(args) } as typeof silent;
  const inNewFolder = join(folder, 'journal'); // its volume is known once it is made
  const journal = await openJournal({ folder: inNewFolder, maxBytes: Number.MAX_SAFE_INTEGER, log });
  await journal.close();
  assert.is(journal.maxBytes, await journalLimit(folder, Number.MAX_SAFE_INTEGER));
  assert.equal(warnings, [
    [{ max_bytes: journal.maxBytes }, "The journal's volume is smaller than journal.max_bytes: this is its limit"],
  ]);
});

test('as configured where the volume cannot be read', async () => {
  assert.is(await journalLimit(join(folder, 'missing'), 1_000_000_000), 1_000_000_000);
});

test.run();
