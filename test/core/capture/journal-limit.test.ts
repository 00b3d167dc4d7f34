import { mkdtempSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { journalLimit } from '../../../core/capture/journal-limit.ts';

const test = suite('journal limit');
const folder = mkdtempSync(join(tmpdir(), 'svc-test-'));

test('as configured, but never more than nine tenths of the volume', async () => {
  const { blocks, bsize } = await statfs(folder);
  assert.is(await journalLimit(folder, 1_048_576), 1_048_576);
  const most = await journalLimit(folder, Number.MAX_SAFE_INTEGER);
  assert.is(most, Math.floor(blocks * bsize * 0.9));
});

test('as configured where the volume cannot be read', async () => {
  assert.is(await journalLimit(join(folder, 'missing'), 1_000_000_000), 1_000_000_000);
});

test.run();
