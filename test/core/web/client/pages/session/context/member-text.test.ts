import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BlockContent } from '../../../../../../../core/model/call-context.ts';
import { memberAt, textPair } from '../../../../../../../core/web/client/pages/session/context/member-text.ts';

const test = suite('texts that are laid side by side');

const content = (json: unknown, text: string | null = null): BlockContent => ({
  ...{ n: 0, id: '', path: 'tools[14]', json, text, exact: true },
});

test('what blocks say, where they say different things', () => {
  const pair = textPair(content({ text: 'a' }, 'a'), content({ text: 'b' }, 'b'), 'tools[14].text');
  assert.equal(pair, { of: '', before: 'a', after: 'b' });
});

test('else the member that differs', () => {
  const [before, after] = [
    content({ name: 'Bash', description: 'Fri' }),
    content({ name: 'Bash', description: 'Sat' }),
  ];
  assert.equal(textPair(before, after, 'tools[14].description'), {
    ...{ of: 'tools[14].description', before: 'Fri', after: 'Sat' },
  });
});

test('else all of both', () => {
  const pair = textPair(content({ strict: true }), content({ strict: false }), 'tools[14].strict');
  assert.equal(pair, { of: '', before: '{\n  "strict": true\n}', after: '{\n  "strict": false\n}' });
});

test('a member by its path', () => {
  const value = { input: { 'file "name"': [{ a: 1 }, 'x'] } };
  assert.is(memberAt(value, '.input["file \\"name\\""][1]'), 'x');
  assert.is(memberAt(value, '.input.constructor'), undefined);
  assert.is(memberAt(value, '.none.deeper'), undefined);
  assert.is(memberAt(value, ''), value);
});

test.run();
