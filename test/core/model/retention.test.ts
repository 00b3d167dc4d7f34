import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { excessTurns } from '../../../core/engine/retention/excess-turns.ts';
import { projectRule, retentionRules } from '../../../core/model/retention.ts';

const test = suite('rules of retention');

test('a project has days or is kept for ever, whatever its name', () => {
  assert.equal(projectRule('ferrybook=30'), { project: 'ferrybook', days: 30 });
  assert.equal(projectRule('a=b=7'), { project: 'a=b', days: 7 });
  assert.equal(projectRule('ledger=forever'), { project: 'ledger', days: null });
  for (const wrong of [
    'ferrybook',
    '=30',
    'ferrybook=0',
    'ferrybook=-1',
    'ferrybook=1.5',
    'ferrybook=soon',
    'x=123456',
  ])
    assert.is(projectRule(wrong), null, wrong);
});

test('nothing is removed where no limit is set', () => {
  const none = { projects: ['ledger=forever'], dry_run: false };
  assert.is(retentionRules({ projects: [], dry_run: false }), null);
  assert.is(retentionRules(none), null);
  assert.is(retentionRules({ ...none, days: 30 })?.projects.get('ledger'), null);
  assert.is(retentionRules({ projects: ['a=1'], dry_run: true })?.dryRun, true);
});

test('free space counts as none that is taken, and a database that cannot shrink is not emptied', () => {
  const size = { bytes: 1_000, free_bytes: 0, turns: 100, turn_bytes: 10 };
  assert.equal(excessTurns(size, 1_000), { turns: 0, bytes: 0 });
  assert.equal(excessTurns(size, 500), { turns: 53, bytes: 500 });
  assert.equal(excessTurns({ ...size, free_bytes: 500 }, 500), { turns: 0, bytes: 0 });
  assert.equal(excessTurns({ ...size, turns: 0, turn_bytes: 0 }, 500), { turns: 0, bytes: 0 });
});

test('a rule whose name ends with a space is for the name without it too', () => {
  const projects = ['keep =forever', ' =9', 'own =5', 'own=3'];
  assert.equal(
    retentionRules({ days: 30, projects, dry_run: false })?.projects,
    new Map(
      [
        ['keep', null],
        ['keep ', null],
        [' ', 9],
        ['own', 3],
        ['own ', 5],
      ].sort() as [string, number | null][],
    ),
  );
});

test.run();
