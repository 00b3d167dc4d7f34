import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalContent } from '../../../core/harness/canonical-content.ts';
import type { Message } from '../../../core/model/bucket.ts';
import { echoed } from '../../../core/provider/echoed.ts';
import { gemini } from '../../../core/provider/gemini.ts';

const test = suite('gemini calls');

const [format] = gemini.formats;

/** An answer as a stream, a part a chunk. */
const streamed = (...parts: object[]) => {
  const chunk = (part: object, finishReason?: string) => ({
    candidates: [{ content: { role: 'model', parts: [part] }, ...(finishReason && { finishReason }), index: 0 }],
    modelVersion: 'gemini-3-pro-preview',
  });
  const chunks = [...parts.map((part) => chunk(part)), chunk({ text: '' }, 'STOP')];
  const events = chunks.map((one) => `data: ${JSON.stringify(one)}\r\n\r\n`).join('');
  return format.reply(new TextEncoder().encode(events), 'text/event-stream').content;
};

const part = (functionCall: object, more: object = {}) => ({ functionCall, ...more });
const calling = (...partialArgs: object[]) => part({ partialArgs, willContinue: true });
const toolUse = (tool_name: string, tool_input: object, more: object = {}) => ({
  ...{ type: 'tool_use', tool_use_id: tool_name, tool_name, tool_input },
  ...more,
});

// https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling, with `streamFunctionCallArguments`
const light = [
  part({ name: 'controlLight', willContinue: true }, { thoughtSignature: 'c2ln' }),
  calling({ jsonPath: '$.brightness', numberValue: 50 }),
  calling({ jsonPath: '$.colorTemperature', stringValue: 'wa', willContinue: true }),
  calling({ jsonPath: '$.colorTemperature', stringValue: 'rm', willContinue: true }),
  calling({ jsonPath: '$.colorTemperature' }),
  part({}),
];
const warm = toolUse('controlLight', { brightness: 50, colorTemperature: 'warm' }, { thinking_signature: 'c2ln' });

test('a call whose arguments come in parts is one call', () => {
  assert.equal(streamed(...light), [warm]);
});
test('calls follow each other, of one function too, between texts and whole calls', () => {
  const whole = part({ name: 'look', args: { at: 'sky' } });
  assert.equal(streamed({ text: 'a' }, ...light, ...light, whole, { text: 'b' }, ...light), [
    { type: 'text', text: 'a' },
    ...[warm, warm, toolUse('look', { at: 'sky' })],
    { type: 'text', text: 'b' },
    warm,
  ]);
});
test('a call ends with the part that does not continue, also without an empty one, and keeps the id that came with any part', () => {
  const sent = [
    part({ name: 'say', id: 'c1', partialArgs: [{ jsonPath: '$.a', stringValue: 'x' }], willContinue: true }),
    part({ partialArgs: [{ jsonPath: '$.b', boolValue: false }] }),
    part({ name: 'say', partialArgs: [{ jsonPath: '$.a', nullValue: 'NULL_VALUE' }] }),
    part({}),
    part({ name: 'look', willContinue: true }),
    part({ name: 'say', args: { a: 1 }, willContinue: true }), // though the last one has not ended
    calling({ jsonPath: '$.b', numberValue: 2 }),
  ];
  assert.equal(streamed(...sent), [
    toolUse('say', { a: 'x', b: false }, { tool_use_id: 'c1' }),
    toolUse('say', { a: null }),
    toolUse('look', {}),
    toolUse('say', { a: 1, b: 2 }),
  ]);
});
test('names come in snake case too', () => {
  const sent = [
    { function_call: { name: 'say', will_continue: true } },
    {
      function_call: {
        partial_args: [{ json_path: '$.a', string_value: 'x', will_continue: true }],
        will_continue: true,
      },
    },
    {
      function_call: {
        partial_args: [
          { json_path: '$.a', string_value: 'y' },
          { json_path: '$.n', null_value: null },
        ],
      },
    },
  ];
  assert.equal(streamed(...sent), [toolUse('say', { a: 'xy', n: null })]);
});
test('the call of a torn stream has the arguments that came', () => {
  assert.equal(streamed(...light.slice(0, 3)), [
    toolUse('controlLight', { brightness: 50, colorTemperature: 'wa' }, { thinking_signature: 'c2ln' }),
  ]);
});
test('an assembled call has the hash of the same call as a client sends it back', () => {
  const hashed = (message: Message) => canonicalContent(echoed(format, message));
  const args = { brightness: 50, colorTemperature: 'warm' };
  const sentBack = part({ name: 'controlLight', args }, { thoughtSignature: 'c2ln' });
  const answer = hashed({ role: 'assistant', content: streamed(...light) });
  for (const parts of [[sentBack], light]) assert.equal(hashed(format.message({ role: 'model', parts })), answer);
});
test('a path that is none is left out, and none makes a large or a deep value', () => {
  const path = (jsonPath: unknown) => ({ jsonPath, stringValue: 'x' });
  const wrong = [
    '',
    '$',
    'a',
    '$.',
    '$..a',
    '$a',
    '$.a[',
    '$.a[-1]',
    '$[*]',
    '$.list[2]',
    '$.list[999999999]',
    7,
    null,
  ];
  const deep = `$${'.a'.repeat(100_000)}`;
  const sent = part({
    name: 'say',
    partialArgs: [path('$.list[0]'), ...wrong.map(path), path(deep), 'x', { jsonPath: 1 }],
  });
  assert.equal(streamed(sent), [toolUse('say', { list: ['x'] })]);
  const [{ tool_input } = {}] = streamed(part({ name: 'say', partialArgs: [path('$.__proto__.a')] }));
  assert.equal(Object.keys(tool_input as object), ['__proto__']);
  assert.is(({} as { a?: string }).a, undefined);
});

const text = fc.string({ unit: 'binary', maxLength: 12 });
const { value: args } = fc.letrec((tie) => ({
  leaf: fc.oneof(text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null)),
  value: fc.dictionary(text, fc.oneof({ maxDepth: 3 }, tie('leaf'), tie('value'), tie('list')), { minKeys: 1 }),
  list: fc.array(fc.oneof({ maxDepth: 3 }, tie('leaf'), tie('value')), { minLength: 1, maxLength: 4 }),
}));

/** The parts in which a value may be streamed. Every text is cut in two. */
function partsOf(value: unknown, path: string): object[] {
  if (Array.isArray(value)) return value.flatMap((member, i) => partsOf(member, `${path}[${i}]`));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, member]) => partsOf(member, path + step(name)));
  if (value === null) return [{ jsonPath: path, nullValue: 'NULL_VALUE' }];
  if (typeof value === 'number') return [{ jsonPath: path, numberValue: value }];
  if (typeof value === 'boolean') return [{ jsonPath: path, boolValue: value }];
  const half = String(value).length >> 1;
  return [
    { jsonPath: path, stringValue: String(value).slice(0, half), willContinue: true },
    { jsonPath: path, stringValue: String(value).slice(half) },
  ];
}

/** A member's step: by its plain name, else quoted, with JSON's escapes, which RFC 9535 has too. */
const step = (name: string): string => (/^\w+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`);

test('any arguments are assembled from their parts', () => {
  void fc.assert(
    fc.property(args, (given) => {
      const parts = partsOf(given, '$').map((one) => calling(one));
      const [call] = streamed(part({ name: 'f', willContinue: true }), ...parts, part({}));
      assert.is(JSON.stringify(call?.tool_input), JSON.stringify(given));
    }),
  );
});

test.run();
