/** Does any pattern of the product take quadratic time? Asked of an analysis, and of texts made to be the worst for each. */
import { analyse } from 'scslre';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { growthProblem } from '../support/growth.ts';
import { attacksOn, type Pattern, patternsOfProduct } from '../support/patterns.ts';

const test = suite('patterns of the product');

/** Reviewed: what keeps each from a text that somebody else wrote, and is long. */
const REVIEWED: Readonly<Record<string, string>> = {
  'cassettes/search/ollama.ts /\\/+$/': 'an address that the operator configured',
  'core/config/load.ts /\\/\\/.*@/g': 'a setting of at most 200 characters',
  'core/db/client/gauge.ts /\\0+$/': 'a name of ours in a buffer of fixed length',
  'core/price/money.ts /0+$/': 'the digits of one amount, made by arithmetic of ours',
};

/** Of a group, and behind a number of repetitions, each one takes room on the stack of the matcher. */
const REMEMBERS = /\)(?:[*+]|\{\d*,\})|[^)]\{(?!0,|1,)\d+,\}/;
/** Reviewed: what keeps millions of repetitions from each. */
const BOUNDED: Readonly<Record<string, string>> = {
  'core/cassette/core-binding.ts /^(?:\\/[A-Za-z0-9._~-]+)+$/':
    'the path of a request that a cassette makes in this process',
  'core/config/schema.ts /^(\\/(?!\\.)[A-Za-z0-9._~-]+)+$/': 'a setting of at most 200 characters',
  'core/cassette/admission/manifest.ts /^(?:\\/(?!\\.{1,2}(?:\\/|$))[A-Za-z0-9._~-]+)+$/': 'at most 200 characters',
  'core/cassette/admission/manifest.ts /^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)*$/': 'at most 100 characters',
  'core/cassette/admission/manifest.ts /^(?:\\/|[a-z0-9][a-z0-9_-]*(?:\\/[a-z0-9][a-z0-9_-]*)*)$/':
    'at most 100 characters',
  "core/cassette/openapi/checked-document.ts /^(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|\\{[A-Za-z0-9_.-]+\\})*$/":
    'a document of at most 1 MiB',
  'core/cli/cassette/checked-lock.ts /^(?:sha(?:1|256|384|512)-[A-Za-z0-9+/]+={0,2}\\s*)+$/':
    "an author's own lock file",
  'core/cli/doctor/sentinel.ts /^(?:Cannot [^:]*: )+/': 'a message of ours',
  'core/cli/start/harness/json-with-comments.ts /"[^"\\\\]*(?:\\\\[\\s\\S][^"\\\\]*)*(?:"|\\\\?$)|\\/\\/[^\\r\\n]*|\\/\\*[\\s\\S]*?(?:\\*\\/|$)/g':
    "the user's own settings",
  'core/cli/start/harness/json-with-comments.ts /"[^"\\\\]*(?:\\\\[\\s\\S][^"\\\\]*)*(?:"|\\\\?$)|,(?=\\s*[}\\]])/g':
    "the user's own settings",
  'core/web/client/worker/json-tokens.ts /"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"?|[[\\]{},:]|[^\\s[\\]{},:"]+/g':
    'a text whose parser throws is shown as it is',
};
const SHORT = 500;
/** As long as a body may be. */
const LONG = 33_554_432;

const patterns = [...new Map(patternsOfProduct().map((pattern) => [pattern.literal, pattern])).values()];
const keyOf = ({ where, literal }: Pattern) => `${where.replace(/:\d+$/, '')} ${literal}`;
const unreviewed = patterns.filter((pattern) => !(keyOf(pattern) in REVIEWED));

test('they are found', () => {
  assert.ok(patterns.length > 250, `${patterns.length}`);
  for (const reviewed of Object.keys({ ...REVIEWED, ...BOUNDED }))
    assert.ok(
      patterns.some((pattern) => keyOf(pattern) === reviewed),
      `it is there no more: ${reviewed}`,
    );
});

test('none is super-linear by its analysis', () => {
  const found = unreviewed.flatMap((pattern) => {
    const { reports } = analyse({ source: pattern.source, flags: pattern.flags }, { maxReports: 1 });
    return reports.map(({ type }) => `${pattern.where} ${pattern.literal}: ${type}`);
  });
  assert.equal(found, []);
});

test('none is super-linear on texts that repeat what it looks for', () => {
  const found = unreviewed.flatMap((pattern) => {
    const expression = new RegExp(pattern.source, pattern.flags);
    const work = (text: string) => {
      expression.lastIndex = 0;
      return text.replace(expression, '');
    };
    for (const { before, piece } of attacksOn(pattern)) {
      const problem = growthProblem(work, before, piece);
      if (problem) return [`${pattern.where} ${pattern.literal} on ${JSON.stringify([before, piece])}: ${problem}`];
    }
    return [];
  });
  assert.equal(found, []);
});

test('none overflows the stack on a long text', () => {
  const found = patterns.flatMap((pattern) => {
    if (keyOf(pattern) in BOUNDED || !REMEMBERS.test(pattern.source)) return [];
    const expression = new RegExp(pattern.source, pattern.flags);
    const matched = (text: string) => {
      expression.lastIndex = 0;
      return expression.exec(text)?.[0].length ?? 0;
    };
    for (const { before, piece } of attacksOn(pattern)) {
      if (matched(before + piece.repeat(SHORT)) < SHORT) continue;
      try {
        matched(before + piece.repeat(LONG / piece.length));
      } catch (error) {
        return [
          `${pattern.where} ${pattern.literal} on ${JSON.stringify([before, piece])}: ${(error as Error).message}`,
        ];
      }
    }
    return [];
  });
  assert.equal(found, []);
});

test.run();
