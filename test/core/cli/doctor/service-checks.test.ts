import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Finding } from '../../../../core/cli/doctor/finding.ts';
import { keepingUp } from '../../../../core/cli/doctor/service-checks.ts';
import { Status, statusExample } from '../../../../core/model/status.ts';

const test = suite('whether the service keeps up');

const status = Status.parse(statusExample);
const { days_left: _, growth_bytes_per_day: __, ...young } = status.disk; // of which no growth is known yet
const findings = (check: string, changed: Partial<Status>): Finding[] =>
  keepingUp({ ...status, ...changed }).filter((finding) => finding.check === check);

test('a disk with little left is a failure, though how long it lasts is not known yet', () => {
  for (const [free_bytes, shown] of [
    [0, '0 bytes'],
    [268_435_455, '268 MB'],
  ] as const) {
    const [finding, ...others] = findings('disk', { disk: { ...young, free_bytes } });
    assert.is(finding?.level, 'fail');
    assert.match(finding?.text ?? '', `${shown} are free, too little for its logs`);
    assert.equal(others, []);
  }
  assert.is(findings('disk', { disk: { ...young, free_bytes: 268_435_456 } })[0]?.level, 'ok');
});

test('a disk that is full in some days is a warning; one of a server is not known', () => {
  assert.is(findings('disk', { disk: { ...status.disk, days_left: 13.9 } })[0]?.level, 'warn');
  const { free_bytes: _, ...ofServer } = young;
  assert.equal(
    findings('disk', { disk: ofServer }).map(({ level, text }) => [level, text]),
    [['ok', '476 MB of database']],
  );
});

test('calls that the journal had no room for are named', () => {
  assert.equal(findings('journal', {}), []);
  const outcomes = { ...status.coverage.outcomes, journal_full: 3 };
  const [finding] = findings('journal', { coverage: { ...status.coverage, outcomes } });
  assert.is(finding?.level, 'warn');
  assert.match(finding?.text ?? '', '3 calls passed so far without being recorded');
});

test.run();
