import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { UNHASHED_TAGS } from '../../../core/harness/harnesses.ts';
import {
  canonicalMessage,
  projectedText as projectedWithout,
  withoutCacheControl,
  withoutTags,
} from '../../../core/merkle/projection.ts';
import type { Message } from '../../../core/model/bucket.ts';
import type { ContentBlock } from '../../../core/model/content-block.ts';

const test = suite('canonicalMessage');

const canonicalContent = (message: Message) => canonicalMessage(message, UNHASHED_TAGS);
const projectedText = (text: string) => projectedWithout(text, UNHASHED_TAGS);
const withoutHarnessSpans = (text: string) => withoutTags(text, UNHASHED_TAGS);

const contentOf = (...content: ContentBlock[]): unknown =>
  (JSON.parse(canonicalContent({ role: 'user', content })) as { content: unknown }).content;
const textOf = (text: string) => contentOf({ type: 'text', text });

test('a plain message, to the letter', () => {
  assert.is(
    canonicalContent({ role: 'user', content: [{ type: 'text', text: 'hello' }] }),
    '{"content":[{"is_error":false,"text":"hello","type":"text"}],"role":"user","type":"message"}',
  );
  assert.is(canonicalContent({ role: 'tool', content: [] }), '{"content":[],"role":"tool","type":"message"}');
});

test('every tag is removed with all that it holds', () => {
  const text = UNHASHED_TAGS.map((tag) => `<${tag}>drop\n${tag}</${tag}>\n`).join('');
  assert.is(projectedText(`${text}keep`), 'keep');
  assert.is(projectedText('<system-reminder>a</system-reminder>b<system-reminder>c</system-reminder>d'), 'bd');
});

test('a tag that is not closed swallows the rest', () => {
  assert.is(projectedText('keep this\n<system-reminder>and so on'), 'keep this');
  assert.is(projectedText('a</status>b'), 'a</status>b');
});

test('without tags nothing is removed, and nothing but the tags that are given', () => {
  const text = '<status>a</status><event>b</event>';
  assert.is(projectedWithout(text, []), text);
  assert.is(projectedWithout(text, ['event']), '<status>a</status>');
  const content = [
    { type: 'text', text },
    { type: 'tool_result', tool_output: text },
  ];
  assert.match(
    canonicalMessage({ role: 'user', content }, ['event']),
    /"text":"<status>a<\/status>".*"tool_output":"<status>a<\/status>"/,
  );
});

test('only the bare tag counts', () => {
  for (const text of ['<status code="1">x</status>', '<Status>x</Status>', '<statuses>x</statuses>', '< status>']) {
    assert.is(projectedText(text), text);
  }
});

test('tags are removed one name at a time, in their order', () => {
  assert.is(projectedText('<system-reminder>a<status>b</system-reminder>c</status>d'), 'c</status>d');
  assert.is(projectedText('<status>a<system-reminder>b</status>c</system-reminder>d'), '');
  assert.is(projectedText('a<sta<event>x</event>tus>b</status>c'), 'a<status>b</status>c'); // `event` comes after `status`
  assert.is(projectedText('a<sta<command-name>x</command-name>tus>b</status>c'), 'ac');
});

test('a tag that a removal brings about is removed too', () => {
  assert.is(withoutHarnessSpans('a<sta<status>x</status>tus>b</status>c'), 'ac');
  assert.is(withoutHarnessSpans('<st<sta<status></status>tus>x</status>atus>b</status>c'), 'c');
});

/** The rule as it is stated: remove the first span, begin again. */
function removedOneByOne(text: string): string {
  let rest = text;
  for (const tag of UNHASHED_TAGS) {
    for (let start = rest.indexOf(`<${tag}>`); start >= 0; start = rest.indexOf(`<${tag}>`)) {
      const end = rest.indexOf(`</${tag}>`, start);
      rest = end < 0 ? rest.slice(0, start) : rest.slice(0, start) + rest.slice(end + tag.length + 3);
    }
  }
  return rest;
}

test('removal in one pass equals removal one by one', () => {
  const pieces = [
    '<status>',
    '</status>',
    '<sta',
    'tus>',
    '<',
    's',
    'x',
    '<event>',
    '</event>',
    '<ev',
    'ent>',
    '</st',
    'atus>',
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 40 }), (parts) => {
      const text = parts.join('');
      assert.is(withoutHarnessSpans(text), removedOneByOne(text));
    }),
    { numRuns: 3000 },
  );
});

test('white space that drifts does not count', () => {
  const same = [
    'line A\nline B',
    'line A   \r\nline B  ',
    '\n\nline A\t \n \t\n\n\nline B\n',
    '\u00a0line A\nline B\u0085',
  ];
  for (const text of same) assert.is(projectedText(text), 'line A\nline B');
  assert.is(projectedText('  a  b\n  c'), 'a  b\n  c', 'blanks within and before a line do');
  assert.is(projectedText('\ufeffa'), '\ufeffa', 'a byte order mark is text');
  assert.is(projectedText('a\rb\r\r\nc'), 'a\rb\r\nc', 'a CR that ends no line does');
});

test('white space is tidied as the stated steps do it', () => {
  const inSteps = (text: string) =>
    text
      .replaceAll('\r\n', '\n')
      .replace(/[ \t]+\n/g, '\n')
      .replace(/\n{2,}/g, '\n')
      .replace(/^[\s\u0085]+|[\s\u0085]+$/g, '');
  fc.assert(
    fc.property(fc.array(fc.constantFrom(' ', '\t', '\n', '\r', 'a', '\v', '\u2003', '\u0085')), (parts) => {
      assert.is(projectedText(parts.join('')), inSteps(parts.join('')));
    }),
    { numRuns: 2000 },
  );
});

test('a text block of which nothing remains is left out; a tool output stays', () => {
  assert.equal(contentOf({ type: 'text', text: '<status>x</status> ' }, { type: 'text', text: 'keep' }), [
    { is_error: false, text: 'keep', type: 'text' },
  ]);
  assert.equal(textOf(''), []);
  assert.equal(contentOf({ type: 'tool_result', tool_result_id: 't', tool_output: '<status>x</status>' }), [
    { is_error: false, tool_result_id: 't', type: 'tool_result' },
  ]);
});

test('tool output is projected as text is', () => {
  assert.equal(contentOf({ type: 'tool_result', tool_output: 'a  \r\n\nb<event>now</event>' }), [
    { is_error: false, tool_output: 'a\nb', type: 'tool_result' },
  ]);
});

test('is_error is always there', () => {
  assert.equal(contentOf({ type: 'tool_result', tool_result_id: 't', is_error: true }), [
    { is_error: true, tool_result_id: 't', type: 'tool_result' },
  ]);
});

test('keys of a tool input that hold nothing are left out, in objects but not within lists', () => {
  const tool_input = {
    path: '/x',
    replace_all: false,
    none: null,
    empty: '',
    zero: 0,
    minus_zero: -0,
    list: [],
    object: {},
    nested: { on: true, off: false, deeper: { nothing: null } },
    hollow: { a: { b: '' } },
    kept: [0, false, null, { off: false }],
  };
  assert.equal(contentOf({ type: 'tool_use', tool_name: 'Edit', tool_input }), [
    {
      is_error: false,
      tool_input: { path: '/x', nested: { on: true }, kept: [0, false, null, { off: false }] },
      tool_name: 'Edit',
      type: 'tool_use',
    },
  ]);
  assert.equal(contentOf({ type: 'tool_use', tool_input: { off: false } }), [{ is_error: false, type: 'tool_use' }]);
  assert.equal(contentOf({ type: 'tool_use', tool_input: 'patch' }), [
    { is_error: false, tool_input: 'patch', type: 'tool_use' },
  ]);
});

test('thinking counts, its signature does not', () => {
  assert.equal(contentOf({ type: 'thinking', thinking: ' let me see ', thinking_signature: 'Eos' }), [
    { is_error: false, thinking: ' let me see ', type: 'thinking' },
  ]);
});

test('a block that we do not model counts whole, without cache marks at any depth', () => {
  const content = {
    type: 'document',
    cache_control: { type: 'ephemeral' },
    source: { parts: [{ cache_control: 1, text: 'a' }] },
  };
  assert.equal(contentOf({ type: 'document', content }), [
    { content: { source: { parts: [{ text: 'a' }] }, type: 'document' }, is_error: false, type: 'document' },
  ]);
  assert.equal(withoutCacheControl({ a: [{ cache_control: 1 }] }), { a: [{}] });
});

test('a tool may call an argument cache_control', () => {
  assert.match(
    canonicalContent({ role: 'assistant', content: [{ type: 'tool_use', tool_input: { cache_control: 'x' } }] }),
    'cache_control',
  );
});

test('images count by all that they hold', () => {
  assert.equal(
    contentOf(
      { type: 'image', media_type: 'image/png', image_base64: 'AA==' },
      { type: 'image', image_url: 'https://x' },
    ),
    [
      { image_base64: 'AA==', is_error: false, media_type: 'image/png', type: 'image' },
      { image_url: 'https://x', is_error: false, type: 'image' },
    ],
  );
});

test('keys are sorted by code unit and numbers written as ECMAScript does', () => {
  const tool_input = {
    '\u20ac': 1,
    b: 1e21,
    a: 0.1,
    B: 1.0,
    '1': Number('333333333.33333329'),
    '\ud83d\ude00': 1e-7,
    big: 2 ** 53,
  };
  assert.is(
    canonicalContent({ role: 'user', content: [{ type: 'tool_use', tool_input }] }),
    '{"content":[{"is_error":false,"tool_input":{"1":333333333.3333333,"B":1,"a":0.1,"b":1e+21,"big":9007199254740992,"\u20ac":1,' +
      '"\ud83d\ude00":1e-7},"type":"tool_use"}],"role":"user","type":"message"}',
  );
});

test('what JSON cannot say does not break it', () => {
  assert.match(
    canonicalContent({ role: 'user', content: [{ type: 'tool_use', tool_input: { a: [Number('1e400')] } }] }),
    '"a":[null]',
  );
  assert.match(canonicalContent({ role: 'user', content: [{ type: 'text', text: '\ud800' }] }), '"\\ud800"');
  const prototype = JSON.parse('{"__proto__": {"x": 1}}') as unknown;
  assert.match(
    canonicalContent({ role: 'user', content: [{ type: 'tool_use', tool_input: prototype }] }),
    '"__proto__":{"x":1}',
  );
});

test('the order of keys never matters', () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, member]) => [key, shuffled(member)]),
    );
  };
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const message = (tool_input: unknown) =>
        canonicalContent({ role: 'user', content: [{ type: 'x', tool_input, content: tool_input }] });
      assert.is(message(shuffled(value)), message(value));
      JSON.parse(message(value));
    }),
  );
});

test('the message is not changed', () => {
  const content = [
    { type: 'tool_use', tool_input: { off: false, deep: { no: null } } },
    { type: 'text', text: ' a ' },
  ];
  const before = structuredClone(content);
  canonicalContent({ role: 'user', content });
  assert.equal(content, before);
});

test('long texts of the worst kind are still read in one pass', () => {
  const size = 2_000_000;
  const worst = [
    '<',
    ' ',
    ' \n',
    '\n',
    '\t\n ',
    '<status></status>',
    '<sta<status></status>tus>',
    '<status>',
    '</status>',
    '\r',
    '<event>x</event>\n',
  ];
  for (const piece of worst) projectedText(piece.repeat(Math.ceil(size / piece.length))); // quadratic would take hours
  assert.is(projectedText('<'.repeat(size)).length, size);
});

test.run();
