import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { bodyShape, bodyText, eventData, streamEvents } from '../../../core/provider/sse.ts';
import { utf8 } from '../../support/provider-streams.ts';

const test = suite('sse');

test('events by their blank lines, whatever ends a line', () => {
  const lf = 'event: a\ndata: 1\n\n: comment\n\nid: 7\nretry: 10\ndata: 2\ndata:3\n\nunknown: x\ndata\n\n';
  const expected = ['1', '2\n3', ''];
  for (const end of ['\n', '\r\n', '\r'])
    assert.equal(eventData(lf.replaceAll('\n', end)), expected, JSON.stringify(end));
});

test('the last event counts without its blank line', () => {
  for (const tail of ['', '\n', '\r', '\r\n', '\n\n']) assert.equal(eventData(`data: 1\n\ndata: 2${tail}`), ['1', '2']);
});

test('no event without data', () => {
  assert.equal(eventData(''), []);
  assert.equal(eventData('event: a\n\n: b\n\n'), []);
});

test('a byte order mark is none of the text, and a cut character is marked', () => {
  assert.equal(eventData(bodyText(utf8('\ufeffdata: 1\n\n'))), ['1']);
  const bytes = utf8('data: €');
  assert.equal(eventData(bodyText(bytes.subarray(0, bytes.length - 1))), ['\ufffd']);
});

test('long and odd streams are read in one pass', () => {
  for (const piece of ['\r', '\n', 'data: x\r\r', 'data: x\n', 'x']) eventData(piece.repeat(2_000_000 / piece.length));
});

test('JSON events, the closing mark and what is neither', () => {
  assert.equal(streamEvents('data: {"a":1}\n\ndata: ping\n\ndata: {"b":\n\ndata: [DONE]\n\n'), [
    { json: { a: 1 } },
    'unreadable',
    'done',
  ]);
  assert.equal(streamEvents('data: {"a":1}\n\ndata: {"b":'), [{ json: { a: 1 } }], 'a cut event is no broken one');
  const deep = `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`;
  assert.equal(streamEvents(`data: ${deep}\n\ndata: [DONE]\n\n`), ['unreadable', 'done']);
});

test('a stream cut anywhere holds the first of its events', () => {
  const stream = utf8(
    'event: a\r\ndata: {"a":"€"}\r\n\r\n: b\r\n\r\ndata: {"c":\r\ndata: 2}\r\n\r\ndata: [DONE]\r\n\r\n',
  );
  const all = JSON.stringify(streamEvents(bodyText(stream)));
  for (let length = 0; length <= stream.length; length++) {
    const some = JSON.stringify(streamEvents(bodyText(stream.subarray(0, length)))).slice(0, -1);
    assert.ok(all.startsWith(some), `cut at ${length}`);
  }
});

test('what a body is', () => {
  const sse = 'text/event-stream; charset=utf-8';
  const shapes: [body: string, contentType: string, shape: 'stream' | 'document' | null][] = [
    ['event: a\n', sse, 'stream'],
    ['data: {}', 'application/json', 'stream'],
    [': ping', '', 'stream'],
    ['\n\ndata: 1', '', 'stream'],
    ['{"type":"error"}', sse, 'document'],
    [' \n{"a":1}', 'application/json', 'document'],
    ['{', '', 'document'],
    ['', sse, 'stream'],
    ['ev', 'Text/Event-Stream', 'stream'],
    ['', 'application/json', null],
    ['\u001f\ufffd\b', sse, null],
    ['<html>', 'text/html', null],
    ['idle', sse, null],
  ];
  for (const [body, contentType, shape] of shapes) assert.is(bodyShape(body, contentType), shape, JSON.stringify(body));
});

test('nothing is thrown, whatever the bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.string(), (bytes, contentType) => {
      const body = bodyText(bytes);
      bodyShape(body, contentType);
      streamEvents(body);
    }),
  );
});

test.run();
