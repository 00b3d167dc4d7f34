/** The line of `svc status` with what retention removes next, for each of its reasons. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { removalsLines } from '../../../core/cli/removals-lines.ts';

const test = suite('what retention removes next');

const NOTHING = { sessions: 0, raw_turns: 0, more: false, excess_bytes: 0 };

const line = (next: Partial<typeof NOTHING>, dry_run: boolean, free_bytes = 0) =>
  removalsLines(
    { retention: { max_bytes: 67_108_864, projects: [], dry_run, next: { ...NOTHING, ...next }, free_bytes } },
    Date.now(),
  )[0]?.[1];

test('a dry run names what is too old, and what is too much', () => {
  const of = (next: Partial<typeof NOTHING>) => line(next, true)?.replace('over 67.1 MB; a dry run: would remove ', '');
  assert.is(of({}), 'nothing');
  assert.is(of({ excess_bytes: 34_748_060 }), 'the oldest sessions, since 34.7 MB are too much');
  assert.is(of({ sessions: 1, raw_turns: 2 }), '1 session with 2 turns');
  assert.is(
    of({ sessions: 1000, raw_turns: 2000, more: true, excess_bytes: 34_748_060 }),
    'over 1,000 sessions with 2,000 turns, then the oldest of the others, since 34.7 MB are too much',
  );
});

test('so does a sweep, and what is free stands at the end', () => {
  assert.is(line({}, false), 'over 67.1 MB; next: nothing');
  assert.is(
    line({ excess_bytes: 34_748_060 }, false, 2_500_000),
    'over 67.1 MB; next: the oldest sessions, since 34.7 MB are too much; about 2.5 MB of the database are free for new rows',
  );
});

test.run();
