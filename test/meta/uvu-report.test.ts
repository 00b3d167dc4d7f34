import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { failures, readReport } from '../support/uvu-report.ts';

const test = suite('uvu report');

test('suites, totals and skips are read, whatever the tests print between the marks', () => {
  const report = readReport(
    [
      ' sessions (embedded)  • printed by a test',
      'and more',
      '✘   (1 / 2)',
      '',
      '   FAIL  sessions (embedded)  "bad"',
      '    Expected values to be deeply equal:  (equal)',
      '',
      '\u001b[47m\u001b[1m sessions (server) \u001b[22m\u001b[49m • \u001b[32m  (1 / 1)\u001b[39m',
      'skip: there are no fixtures',
      ' after  • skip: printed inside a test',
      '•   (2 / 2)',
      '',
      '  Total:     5',
      '\u001b[32m  Passed:    4\u001b[39m',
      '  Skipped:   1',
      '  Duration:  4.68ms',
      '',
    ].join('\n'),
  );
  assert.equal(report.suites, [
    { name: 'sessions (embedded)', passed: 1, total: 2 },
    { name: 'sessions (server)', passed: 1, total: 1 },
    { name: 'after', passed: 2, total: 2 },
  ]);
  assert.equal([report.total, report.passed, report.skipped, failures(report)], [5, 4, 1, 1]);
  assert.equal(report.skips, ['skip: there are no fixtures', 'skip: printed inside a test']);
  assert.ok(report.closed);
});

test('a hook that threw leaves tests that did not pass', () => {
  const report = readReport(
    ' hook    (0 / 3)\n\n  Total:     3\n  Passed:    0\n  Skipped:   0\n  Duration:  1.00ms\n',
  );
  assert.equal(report.suites, [{ name: 'hook', passed: 0, total: 3 }]);
  assert.is(failures(report), 3);
});

test('output that ends early is not closed', () => {
  assert.not(readReport(' a  • ').closed);
});

test.run();
