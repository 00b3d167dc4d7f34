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

const patterns = [...new Map(patternsOfProduct().map((pattern) => [pattern.literal, pattern])).values()];
const keyOf = ({ where, literal }: Pattern) => `${where.replace(/:\d+$/, '')} ${literal}`;
const unreviewed = patterns.filter((pattern) => !(keyOf(pattern) in REVIEWED));

test('they are found', () => {
  assert.ok(patterns.length > 250, `${patterns.length}`);
  for (const reviewed of Object.keys(REVIEWED))
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

test.run();
