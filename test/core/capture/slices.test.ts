/** Pieces always join to the body, appended elements leave the earlier pieces alone, and what cannot be cut stays whole. */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cutAfter } from '../../../core/capture/shared-slices.ts';
import { cutOf, cutRecords, type Piece, parseElement, skeletonOf, sliceBody } from '../../../core/capture/slices.ts';
import { Unreadable } from '../../../core/provider/format.ts';

const bytes = (text: string) => Buffer.from(text);
const textOf = (body: Buffer, { start, end }: Piece) => body.subarray(start, end).toString();
const pieces = (text: string) => sliceBody(bytes(text)).map((piece) => [piece.section, textOf(bytes(text), piece)]);
const joined = (body: Buffer, cut: readonly Piece[]) =>
  Buffer.concat(cut.map(({ start, end }) => body.subarray(start, end)));

const test = suite('slices');

test('an element takes the separator before it along', () => {
  assert.equal(pieces('{"model":"m", "messages": [ {"a":1} , {"b":"]"}\n],"tools":[],"system":"s"} '), [
    [null, '{"model":"m", "messages": ['],
    ['messages', ' {"a":1}'],
    ['messages', ' , {"b":"]"}'],
    [null, '\n],"tools":[],"system":"s"} '],
  ]);
});

test('the four arrays are cut, others are not', () => {
  assert.equal(pieces('{"input":["a",1,null],"tools":[{}],"system":[[]],"stop":["x"],"metadata":{"messages":[1]}}'), [
    [null, '{"input":['],
    ['input', '"a"'],
    ['input', ',1'],
    ['input', ',null'],
    [null, '],"tools":['],
    ['tools', '{}'],
    [null, '],"system":['],
    ['system', '[]'],
    [null, '],"stop":["x"],"metadata":{"messages":[1]}}'],
  ]);
});

test('records are cut in a transcript, and in nothing else; whatever else is in it is not', () => {
  const text = '{"session":{"records":[1]},"messages":[2],"records":[{"a":1}, "torn {"],"input":[3]}';
  const body = bytes(text);
  assert.equal(
    cutRecords(body).map((piece) => [piece.section, textOf(body, piece)]),
    [
      [null, '{"session":{"records":[1]},"messages":[2],"records":['],
      ['records', '{"a":1}'],
      ['records', ', "torn {"'],
      [null, '],"input":[3]}'],
    ],
  );
  assert.equal(
    pieces(text).map(([section]) => section),
    [null, 'messages', null, 'input', null],
  );
});

test('a record that is nested too deep for a body is a piece as well', () => {
  const deep = `${'['.repeat(600)}${']'.repeat(600)}`;
  assert.is(cutRecords(bytes(`{"records":[1,${deep},2]}`)).length, 5);
  assert.is(pieces(`{"messages":[1,${deep},2]}`).length, 1);
});

test('records that are no array, torn or there twice leave the upload whole', () => {
  for (const text of ['{"records":{}}', '{"records":[1', '[]', '']) {
    const cut = cutRecords(bytes(text));
    assert.equal(cut.map((piece) => textOf(bytes(text), piece)).join(''), text);
    assert.ok(cut.length <= 1, text);
  }
  const twice = bytes('{"records":[1],"records":[2]}');
  assert.equal(
    cutRecords(twice).map((piece) => textOf(twice, piece)),
    ['{"records":[1],"records":[', '2', ']}'],
  );
});

test('a key may be spelt with escapes', () => {
  assert.equal(pieces('{"m\\u0065ssages":[1]}')[1], ['messages', '1']);
});

test('of a key that stands twice the last array counts, as readers see it', () => {
  const text = '{"messages":[1,2],"tools":[3],"messages":[4]}';
  assert.equal(pieces(text), [
    [null, '{"messages":[1,2],"tools":['],
    ['tools', '3'],
    [null, '],"messages":['],
    ['messages', '4'],
    [null, ']}'],
  ]);
  assert.equal(skeletonOf(bytes(text), sliceBody(bytes(text))), { messages: [], tools: [] });
  const shadowed = '{"messages":[1,2],"messages":"none"}';
  assert.equal(pieces(shadowed), [[null, shadowed]]);
  assert.equal(skeletonOf(bytes(shadowed), sliceBody(bytes(shadowed))), { messages: 'none' });
});

test('what is no JSON object stays in one piece', () => {
  for (const text of [
    'nothing',
    '[1,2]',
    '"a"',
    '{"messages":[1',
    '{"messages":[1]',
    '{"messages":[1 2]}',
    '{"a":1}x',
    '{"a" 1}',
    '{"messages":[,]}',
  ]) {
    assert.equal(pieces(text), [[null, text]]);
  }
  assert.equal(sliceBody(Buffer.alloc(0)), []);
});

test('nesting beyond the limit is neither cut nor read', () => {
  const deep = `${'['.repeat(600)}${']'.repeat(600)}`;
  for (const text of [`{"messages":[${deep}]}`, `{"other":${deep}}`]) {
    assert.equal(pieces(text).length, 1);
    assert.throws(
      () => skeletonOf(bytes(text), sliceBody(bytes(text))),
      (error: Error) => error instanceof Unreadable,
    );
  }
  const fine = `{"messages":[${'['.repeat(400)}${']'.repeat(400)}]}`;
  assert.is(pieces(fine).length, 3);
});

test('a byte order mark is kept, and read over', () => {
  const body = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes('{"messages":[{"ü":"\\"]"}],"n":1}')]);
  const cut = sliceBody(body);
  assert.is(cut.length, 3);
  assert.equal(joined(body, cut), body);
  assert.equal(skeletonOf(body, cut), { messages: [], n: 1 });
  const [, element] = cut;
  assert.ok(element);
  assert.equal(parseElement(body.subarray(element.start, element.end)), { ü: '"]' });
});

test('messages of refusals quote nothing of the body', () => {
  for (const read of [
    () => parseElement(bytes(',{secret')),
    () => skeletonOf(bytes('secret'), sliceBody(bytes('secret'))),
  ]) {
    assert.throws(
      read,
      (error: Error) => error instanceof Unreadable && !error.message.includes('secret') && !error.cause,
    );
  }
});

test('backslashes before quotes', () => {
  for (const value of [
    '\\',
    '\\\\',
    '\\"',
    `${'x'.repeat(40)}\\`,
    `${'x'.repeat(40)}\\"${'y'.repeat(40)}\\\\`,
    '"'.repeat(60),
  ]) {
    const text = JSON.stringify({ messages: [value, { [value]: value }], model: value });
    assert.is(pieces(text).length, 4, text);
  }
});

const json = fc.jsonValue({ maxDepth: 4 });
const key = fc.oneof(fc.constantFrom('messages', 'input', 'tools', 'system', 'model', 'm\u0065ta'), fc.string());
const space = fc.constantFrom('', ' ', '\n', ' \t\r\n');
const array = fc
  .tuple(fc.array(fc.tuple(json, space)), space)
  .map(
    ([elements, end]) => `[${elements.map(([value, gap]) => `${gap}${JSON.stringify(value)}${gap}`).join(',')}${end}]`,
  );
const member = fc
  .tuple(
    key,
    space,
    fc.oneof(
      array,
      json.map((value) => JSON.stringify(value)),
    ),
  )
  .map(([name, gap, value]) => `${gap}${JSON.stringify(name)}${gap}:${gap}${value}`);
const object = fc.array(member, { maxLength: 8 }).map((members) => `{${members.join(',')}}`);

/** What a JSON parser sees of the four arrays, put together from the pieces. */
function read(body: Buffer): unknown {
  const cut = sliceBody(body);
  const value = skeletonOf(body, cut);
  for (const { section, start, end } of cut) {
    if (section) (value[section] as unknown[]).push(parseElement(body.subarray(start, end)));
  }
  return value;
}

test('any object: the pieces join to the body and read as the body does', () => {
  fc.assert(
    fc.property(object, (text) => {
      const body = bytes(text);
      assert.equal(joined(body, sliceBody(body)), body);
      assert.equal(read(body), JSON.parse(text));
    }),
    { numRuns: 500 },
  );
});

test('any bytes: the pieces join to the body', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.uint8Array({ maxLength: 200 }), object.map(bytes)),
      fc.nat(200),
      fc.nat(255),
      (body, at, byte) => {
        const changed = Buffer.from(body);
        if (changed.length > 0) changed[at % changed.length] = byte;
        const cut = sliceBody(changed);
        assert.equal(joined(changed, cut), changed);
        const torn = changed.subarray(0, at % (changed.length + 1));
        assert.equal(joined(torn, sliceBody(torn)), torn);
      },
    ),
    { numRuns: 500 },
  );
});

test('appended messages leave every earlier element as it was', () => {
  fc.assert(
    fc.property(fc.array(json), fc.array(json, { minLength: 1 }), fc.array(json), (before, more, tools) => {
      const [short, long] = [before, [...before, ...more]].map((messages) =>
        bytes(JSON.stringify({ model: 'm', messages, tools, stream: true })),
      );
      assert.ok(short && long);
      const elements = (body: Buffer) =>
        sliceBody(body)
          .filter(({ section }) => section)
          .map((piece) => `${piece.section} ${textOf(body, piece)}`);
      const of = (body: Buffer, section: string) => elements(body).filter((element) => element.startsWith(section));
      assert.equal(of(long, 'messages').slice(0, before.length), of(short, 'messages'));
      assert.equal(of(long, 'tools'), of(short, 'tools'));
    }),
  );
});

test('a body cut after another is cut as by itself, and the pieces said to be the same are', () => {
  const variants = fc
    .tuple(object, object, fc.nat(), fc.nat(), fc.integer({ min: 0, max: 4 }))
    .map(([a, b, from, to, way]) => {
      if (way === 0) return [a, b] as const;
      const [start, end] = [from % (a.length + 1), to % (a.length + 1)].sort((x, y) => x - y) as [number, number];
      if (way === 1) return [a, a.slice(0, start) + a.slice(end)] as const; // something taken out
      if (way === 2) return [a, a.slice(0, start) + b + a.slice(start)] as const; // something put in
      if (way === 3) return [a, a.replace(/\]([^\]]*)$/, `,${b}]$1`)] as const; // an element more
      return [
        a.replace(/^\{/, '{"messages":[1,{"a":2},3],'),
        a.replace(/^\{/, `{"messages":[1,{"a":2},3,${JSON.stringify(b)}],`),
      ] as const;
    });
  fc.assert(
    fc.property(variants, ([a, b]) => {
      const [previous, body] = [bytes(a), bytes(b)];
      const known = { ...cutOf(previous), body: previous };
      const cut = cutAfter(body, known);
      assert.equal(cut.pieces, sliceBody(body));
      assert.is(cut.same.length, cut.pieces.length);
      cut.same.forEach((index, i) => {
        const [mine, theirs] = [cut.pieces[i], known.pieces[index]];
        if (index === -1 || !mine || !theirs) return;
        assert.is(textOf(body, mine), textOf(previous, theirs));
      });
    }),
    { numRuns: 3000 },
  );
});

test('of one more message only that message and what touches it is new', () => {
  const tools = Array.from({ length: 30 }, (_, i) => ({ name: `tool ${i}`, schema: { x: 'y'.repeat(100) } }));
  const body = (n: number) =>
    bytes(
      JSON.stringify({
        model: 'm',
        messages: Array.from({ length: n }, (_, i) => ({ role: 'user', content: `word ${i}` })),
        tools,
      }),
    );
  const cut = cutAfter(body(11), { ...cutOf(body(10)), body: body(10) });
  assert.is(cut.same.filter((index) => index === -1).length, 1);
});

test('a key that is repeated in the rest of a long body is looked for once', () => {
  const messages = `"messages":[${Array(16_000).fill('{}').join(',')}]`;
  const previous = bytes(`{"tools":[{"a":1}],${messages},"system":["S"]}`);
  const body = bytes(`{"tools":[{"a":1}],"system":["X"],${messages},"system":["S"]}`);
  const known = { ...cutOf(previous), body: previous };
  const from = performance.now();
  const { pieces } = cutAfter(body, known);
  const took = performance.now() - from;
  assert.equal(pieces, sliceBody(body));
  assert.ok(took < 500, `${took} ms`); // in truth some 10 ms; when each element looked anew, it took seconds
});

test('keys that are repeated thousands of times cost the time of reading them', () => {
  const empty = `{"tools":[${Array(32_000).fill('0').join(',')}],${Array(60_000).fill('"messages":[]').join(',')}}`;
  const filled = `{${Array(16_000).fill('"messages":[1]').join(',')}}`;
  const from = performance.now();
  assert.is(sliceBody(bytes(empty)).filter(({ section }) => section === 'tools').length, 32_000);
  assert.is(sliceBody(bytes(filled)).filter(({ section }) => section === 'messages').length, 1);
  const took = performance.now() - from;
  assert.ok(took < 1_000, `${took} ms`); // in truth some 50 ms; it was 16 s
});

test('a long rest after a long beginning is compared by its keys', () => {
  const many = (name: string, first: string) => `"${name}":[${first}${',{}'.repeat(16_000)},{"b":1}]`;
  const previous = bytes(`{${many('messages', '1')},"x":[1],${many('tools', '2')}}`);
  const body = bytes(`{${many('messages', '1').replace('"b"', '"c"')},"x":[1],${many('tools', '2')}}`);
  const known = { ...cutOf(previous), body: previous };
  const from = performance.now();
  const cut = cutAfter(body, known);
  const took = performance.now() - from;
  assert.equal(cut.pieces, sliceBody(body));
  assert.ok(took < 600, `${took} ms`); // it was 1.1 to 1.5 s
});

test.run();
