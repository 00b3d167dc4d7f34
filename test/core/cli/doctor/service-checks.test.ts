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

function published(publisher: Status['publisher']) {
  const [finding] = findings('publishing', { publisher });
  return { level: finding?.level, text: finding?.text };
}

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

test('nodes that never came to the broker are a warning, also once it is there again', () => {
  const publisher = { queued: 0, published: 20_118, failed: 0, dropped: 0, reason: null };
  assert.equal(published(publisher), { level: 'ok', text: '20,118 nodes sent to the broker since the start' });
  assert.equal(published({ ...publisher, failed: 2, dropped: 50_000 }), {
    level: 'warn',
    text: '20,118 nodes sent to the broker since the start; 50,002 nodes lost',
  });
  assert.equal(published({ ...publisher, dropped: 1, reason: 'connect ECONNREFUSED' }), {
    level: 'fail',
    text: 'no broker takes nodes: connect ECONNREFUSED; 1 node lost',
  });
});

test.run();
