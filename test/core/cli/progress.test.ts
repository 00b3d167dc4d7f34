import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openProgress } from '../../../core/cli/progress.ts';
import { progressText } from '../../../core/cli/sync/progress-text.ts';

const test = suite('progress');

test('nothing in the first second or without a terminal, then a bar that goes away', () => {
  let [now, written] = [0, ''];
  const progress = openProgress(
    (text) => {
      written += text;
    },
    () => now,
  );
  progress.show('restored', 1, 4);
  assert.is(written, '');
  now = 1_100;
  progress.show('restored', 1, 4);
  assert.match(written, '██████░░░░░░░░░░░░░░░░░░ 25 % restored');
  progress.show('restored', 2, 4);
  assert.not.match(written, '50 %', 'not so often');
  progress.clear();
  assert.ok(written.endsWith('\u001b[2K'));
  openProgress(null, () => 9_999).show('x', 1, 2);
});

test('a sweep says how many files and bytes it has sent, and how fast', () => {
  assert.is(
    progressText({ files: 1_200, of: 4_000, bytes: 3_000_000, ofBytes: 12_000_000 }, 2),
    '1,200 of 4,000 files, 3 MB of 12 MB, 1.5 MB/s',
  );
});

test.run();
