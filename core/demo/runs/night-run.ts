/** A run through the night: two sub-agents side by side, one with a sub-agent of its own, permission checks, a picture; and a fork of it. */
import { type AgentRun, openRun } from '../agent-run.ts';
import { bash, edit, read } from '../tools.ts';
import { fullTools } from './full-tools.ts';
import { agentSystem, allowed, blocked, reminder, screenshot, todos } from './run-steps.ts';

const CWD = '/home/dev/ferrybook';

/** The page of a phone, 240 by 135, on which a red button lies over the third card. */
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAPAAAACHBAMAAADaXMnYAAAAElBMVEX19vj///8ZHCAKWMq0IxjIzdQHIteoAAAAkklEQVR42u3ZsQ2AIBRFUVdwBVdwBVdw/1UsaJRoKPhICOfWL5wGQ+Gyd2oBg8FgMBg8MSxJGqSzXOwsDTvCa7nYWRqCwW3h7aWXE4Nm4Klg3zG4Gfz9ZD9ODJpNDbvVvW91fmLQbGrYrQaDwWAwGAyOhI97/eHsn+PXiTUzMBgMBlfC3mMwGDwYLEmSJEmS9EsXzqfN0Zhv1sEAAAAASUVORK5CYII=';

const BOOKING = `     1	export function fareOf(passengers: Passenger[], sailing: Sailing): Money {
     2	  const full = passengers.map(({ age }) => (age < 4 ? 0 : age < 12 ? sailing.fare / 2 : sailing.fare));
     3	  return full.reduce((sum, fare) => sum + fare, 0);
     4	}`;

const options = {
  slug: 'night-run',
  minutes_ago: 610,
  cwd: CWD,
  model: 'claude-sonnet-4-6',
  system: agentSystem(CWD),
  tools: fullTools(),
};

/** Both runs: the fork goes on from where the first had its reports. */
export function nightRuns(): AgentRun[] {
  const run = openRun(options);
  const { main } = run;
  main
    .person(
      'Before the release: is the booking page right on phones, and are the fares right? Use agents, I am off to bed.',
      0,
      reminder('# CLAUDE.md\nFerries of the Saronic lines. Money is in cents. Run tests with npm test -- <file>.'),
    )
    .beside({
      system: 'Write a title of at most six words for the conversation. Return JSON with one field: {"title": "…"}',
      text: 'Before the release: is the booking page right on phones, and are the fares right?',
      answer: '{"title": "Booking page and fares before the release"}',
      max_tokens: 512,
    });
  const [page, fares] = main
    .answers('', [
      todos(
        ['Look at the booking page on a phone', 'in_progress'],
        ['Check the fares', 'in_progress'],
        ['Report', 'pending'],
      ),
    ])
    .starts('Two independent questions, so two agents at once.', [
      {
        id: 'agent-page',
        type: 'explorer',
        description: 'Booking page on a phone',
        prompt: `Take a picture of the booking page at 390 pixels in ${CWD} and say what is wrong with it. Do not change anything.`,
      },
      {
        id: 'agent-fares',
        type: 'reviewer',
        description: 'Check the fares',
        prompt: `Read ${CWD}/src/fares.ts and compare it with the tariff. Report each deviation with its line.`,
      },
    ]);
  page
    ?.answers('', [allowed('npm run shot -- /booking --width 390', 'saved tmp/booking-390.png', 9.4)])
    .answers('', [screenshot(`${CWD}/tmp/booking-390.png`, PICTURE)])
    .answers('The red button lies over the third card. The grid has three fixed columns, so the third is cut off.', [
      blocked('rm -rf tmp && git clean -fdx', 'it deletes files that are not under version control'),
    ])
    .answers(
      'On a phone the third card is cut off at the right edge, and the button **Book now** lies over it. Cause: `grid-template-columns: repeat(3, 1fr)` in `booking.css`, line 14. I wanted to remove my picture; that was not allowed, so `tmp/booking-390.png` is still there.',
    );
  const [checker] =
    fares?.answers('', [read(`${CWD}/src/fares.ts`, BOOKING)]).starts('One statement needs the source.', [
      {
        id: 'agent-tariff',
        type: 'fact-checker',
        description: 'Age of free travel',
        prompt: 'Up to which age do children travel free in docs/tariff-2026.md? Quote the sentence.',
      },
    ]) ?? [];
  checker
    ?.answers('', [
      bash(
        'grep -n -i child docs/tariff-2026.md',
        '31:Children under five travel free; from five to eleven they pay half.',
        0.4,
      ),
    ])
    .answers('Line 31: "Children under five travel free; from five to eleven they pay half."');
  fares
    ?.finished()
    .refused(529, 'overloaded_error', 'Overloaded')
    .refused(529, 'overloaded_error', 'Overloaded')
    .answers(
      'One deviation: `fares.ts`, line 2, lets children travel free under **four**; the tariff says under **five** (line 31). Four-year-olds pay half and should pay nothing.',
    );
  main
    .finished()
    .answers(
      'Both have come back. The fare is wrong for four-year-olds, and the third card is cut off on phones.',
      [
        todos(
          ['Look at the booking page on a phone', 'completed'],
          ['Check the fares', 'completed'],
          ['Report', 'in_progress'],
        ),
      ],
      'Neither agent changed anything, as they were told. The person is asleep and asked whether it is right, not to repair it. So I report.',
    );
  const asReported = main.history();
  main
    .cutOff('**Not ready.** Two things are wrong: the booking page cuts off its third card on')
    .answers(
      '**Not ready for release.** Two findings, nothing changed yet:\n\n1. **Fares**: `src/fares.ts`, line 2: children under four travel free, the tariff says under five. Families with a four-year-old pay too much.\n2. **Booking page**: at 390 pixels the third card is cut off and the button lies over it (`booking.css`, line 14).\n\nEach is a change of one line. Say so and I make both.',
    );

  const fork = openRun({ ...options, slug: 'night-run-fares-only', minutes_ago: 55, from: asReported });
  fork.main
    .person('Repair the fare only. The page waits for the new design.', 0)
    .answers('', [edit(`${CWD}/src/fares.ts`, 'age < 4 ? 0', 'age < 5 ? 0')])
    .answers('', [bash('npm test -- fares', '  Total:  9\n  Passed: 9', 3.1)])
    .answers(
      'Done: children under five travel free. The nine tests of the fares pass; none of them had a child of four, so I would add one.',
    );
  return [run, fork];
}
