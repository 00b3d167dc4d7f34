import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { beginning, dollars, fitting, lasting, oneLine, quoted } from '../../../../core/api/mcp/quote.ts';

const test = suite('quote');

test('a beginning fits in JSON, tears no pair, and says what is missing', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '"', '\n', '\u0001', '🙂', 'é', '\ud800'), maxLength: 300 });
  fc.assert(
    fc.property(text, fc.integer({ min: 12, max: 200 }), (whole, most) => {
      const { text: kept, left } = beginning(whole, most);
      assert.ok(JSON.stringify(kept).length - 2 <= most);
      assert.ok(whole.startsWith(kept));
      assert.is(kept.length + left, whole.length);
      assert.not.ok(/[\ud800-\udbff]$/.test(kept) && /[\udc00-\udfff]/.test(whole.charAt(kept.length)));
      if (JSON.stringify(whole).length - 2 <= most) assert.is(left, 0);
    }),
  );
});

test('one line has no breaks, whatever broke it', () => {
  assert.is(oneLine('  a\r\nb\tc\u2028d ', 50), 'a b c d');
  assert.is(oneLine('abcdef', 3), 'abc…');
  assert.is(oneLine('x'.repeat(1_000_000), 3), 'xxx…');
  const pair = oneLine(`${' '.repeat(220)}${'a'.repeat(179)}\u{1f600}`, 200);
  assert.is(pair, `${'a'.repeat(179)}…`, 'half of a pair is no text');
});

test('every line of a quotation is marked', () => {
  assert.is(quoted('a\n\nb'), '> a\n> \n> b');
});

test('of items those that fit are taken, and the first in any case', () => {
  const items = ['x'.repeat(10_000), 'y'.repeat(10_000), 'z'.repeat(10_000)];
  assert.equal(fitting(items, (item) => item, 0).length, 2);
  assert.equal(fitting(items, (item) => item.repeat(2), 0).length, 1);
  assert.equal(fitting(items, (item) => item, 30_000).length, 1);
  assert.equal(
    fitting([], () => '', 0),
    [],
  );
});

test('money and time are told as people would', () => {
  assert.equal([null, 0, 0.00402, 0.5, 12.345].map(dollars), ['cost unknown', '$0.00', '$0.0040', '$0.5000', '$12.35']);
  assert.equal([350, 90_000, 9_000_000].map(lasting), ['0.3 s', '2 min', '2.5 h']);
});

test.run();
