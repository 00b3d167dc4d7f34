/** A test that fails late in the evening: the date of today taken in UTC. With a failed tool, an overloaded provider and its retry. */
import { answers, asks, calls, failed, refuses, type Script, thinking } from '../script.ts';
import { bash, claudeTools, edit, read } from '../tools.ts';

const TEST = `     1	import { departuresToday } from '../src/timetable.ts';
     2	import { insertSailing } from './support/sailings.ts';
     3
     4	test('departs today', async () => {
     5	  const departs_at = new Date();
     6	  await insertSailing({ from: 'SKA', to: 'LIM', departs_at });
     7	  const departures = await departuresToday('SKA');
     8	  assert.equal(departures.length, 1);
     9	});`;

const SOURCE = `     8	/** All sailings that leave a harbour today. */
     9	export async function departuresToday(harbour: string) {
    10	  const today = new Date().toISOString().slice(0, 10);
    11	  return sql\`
    12	    select id, departs_at from sailings
    13	    where harbour = \${harbour}
    14	      and (departs_at at time zone 'Europe/Athens')::date = \${today}
    15	    order by departs_at\`;
    16	}`;

const TODAY = `  const today = new Date().toISOString().slice(0, 10);`;
const TODAY_AT_HARBOUR = `  const today = localDate(clock(), 'Europe/Athens');`;

const NEW_TEST = `test('a sailing after midnight UTC is still today at the harbour', async () => {
  const clock = () => new Date('2026-03-14T22:30:00Z'); // 00:30 on the 15th in Athens
  await insertSailing({ from: 'SKA', to: 'LIM', departs_at: new Date('2026-03-15T05:00:00Z') });
  assert.equal((await departuresToday('SKA', clock)).length, 1);
});`;

export const flakyMidnightTest: Script = {
  slug: 'flaky-midnight-test',
  wire: 'anthropic',
  minutes_ago: 42,
  agent: 'claude',
  harness: { id: 'claude', version: '2.1.197', cwd: '/home/dev/ferrybook' },
  model: 'claude-sonnet-4-6',
  system:
    'You are an interactive agent that helps with software engineering tasks. Working directory: /home/dev/ferrybook.',
  preamble_tokens: 13_800,
  tools: claudeTools,
  steps: [
    asks(
      "The test 'departs today' fails on CI about once a week, always late in the evening. Find out why and fix it.",
    ),
    thinking(
      'It only fails in the evening, so it depends on the clock. The word "today" suggests that a date is taken in two time zones. First the test, then what it calls.',
      calls(
        "I'll start with the test and with when it failed.",
        bash(
          'grep -rn "departs today" test && ciq runs --test \'departs today\' --failed --limit 5',
          "test/timetable.test.ts:4:test('departs today', async () => {\nrun 8841  failed  2026-11-02T22:52:10Z\nrun 8797  failed  2026-10-27T22:14:45Z\nrun 8710  failed  2026-10-19T21:33:02Z\nrun 8652  failed  2026-10-11T22:41:57Z\nrun 8603  failed  2026-10-04T21:47:29Z",
          2.1,
        ),
      ),
    ),
    calls(
      'All five failed between 21:30 and 23:00 UTC. In Athens, where the ferries run, it was past midnight each time.',
      read('/home/dev/ferrybook/test/timetable.test.ts', TEST),
    ),
    refuses(529, 'overloaded_error', 'Overloaded'),
    calls('', read('/home/dev/ferrybook/src/timetable.ts', SOURCE)),
    calls(
      'Line 10 takes the date in UTC, line 14 compares it with a date in Athens. From midnight in Athens until midnight UTC the two differ. I can make it fail now by moving the clock:',
      failed(
        bash(
          "faketime '2026-11-20 22:30:00 UTC' npm test -- timetable",
          "Exit code 1\n   FAIL  timetable  'departs today'\n    Expected values to be strictly equal:\n    0 !== 1\n        at test/timetable.test.ts:8:10\n\n  Total:  14\n  Passed: 13",
          6.8,
        ),
      ),
    ),
    calls(
      'That is the failure. The fix: ask for the date where the harbour is, and take the clock as an argument so that a test can set it.',
      edit('/home/dev/ferrybook/src/timetable.ts', TODAY, TODAY_AT_HARBOUR),
      edit(
        '/home/dev/ferrybook/src/timetable.ts',
        'export async function departuresToday(harbour: string) {',
        'export async function departuresToday(harbour: string, clock = () => new Date()) {',
      ),
    ),
    calls(
      '',
      bash(
        "for at in '12:00' '21:59' '22:30' '23:59'; do faketime \"2026-11-20 $at:00 UTC\" npm test -- timetable | tail -2; done",
        '  Total:  14\n  Passed: 14\n  Total:  14\n  Passed: 14\n  Total:  14\n  Passed: 14\n  Total:  14\n  Passed: 14',
        21.5,
      ),
    ),
    answers(
      'Found and fixed. `departuresToday` took the current date in UTC and compared it with the local date of the harbour (Europe/Athens). For the last two hours before midnight UTC, three in summer, the harbour is already on the next day, so the sailing was not found, and the test failed whenever CI ran then.\n\n- `src/timetable.ts` now computes the date in the time zone of the harbour, and takes the clock as an argument.\n- The tests pass with the clock at 12:00, 21:59, 22:30 and 23:59 UTC.\n\nThe same bug was in production: whoever looked between midnight and two in the morning saw the departures of the day before.',
    ),
    asks('Good. Add a test that would have caught it, and commit.', 120),
    calls(
      '',
      edit(
        '/home/dev/ferrybook/test/timetable.test.ts',
        '  assert.equal(departures.length, 1);\n});',
        `  assert.equal(departures.length, 1);\n});\n\n${NEW_TEST}`,
      ),
    ),
    calls(
      'The new test must fail without the fix, so I run it against both versions.',
      bash(
        'git stash push src -q && npm test -- timetable | tail -2; git stash pop -q && npm test -- timetable | tail -2',
        '  Total:  15\n  Passed: 14\n  Total:  15\n  Passed: 15',
        12.2,
      ),
    ),
    calls(
      '',
      bash(
        "git commit -qam 'fix(timetable): today is a date at the harbour, not in UTC' && git log --oneline -1",
        '4be21c7 fix(timetable): today is a date at the harbour, not in UTC',
      ),
    ),
    answers(
      'Committed as `4be21c7`. The new test sets the clock to 22:30 UTC; it fails on the old code (14 of 15) and passes on the new one (15 of 15), at any time of the day.',
    ),
  ],
};
