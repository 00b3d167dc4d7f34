import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { bodyForm } from '../../../../../../../core/web/client/pages/session/bytes/body-form.ts';
import { hexRow } from '../../../../../../../core/web/client/pages/session/bytes/hex-rows.ts';
import { hitsIn, textRows } from '../../../../../../../core/web/client/pages/session/bytes/text-rows.ts';

const test = suite('the form of a body');
const bytes = (text: string) => new TextEncoder().encode(text);

test('JSON is shown as rows, and as text and hex', () => {
  const { views, json } = bodyForm(bytes('{"a":[1]}'), 'application/json');
  assert.equal(views, ['json', 'text', 'hex']);
  assert.equal(json?.value, { a: [1] });
});

test('an event stream has a row for each event, and the one that was cut off', () => {
  const stream =
    'event: message_start\ndata: {"type":"message_start"}\n\n: ping\n\ndata: {"type":"delta","a":1}\n\ndata: {"ty';
  const { views, events } = bodyForm(bytes(stream), 'text/event-stream; charset=utf-8');
  assert.equal(views, ['events', 'text', 'hex']);
  assert.equal(
    events.map(({ name, data }) => [name, data]),
    [
      ['message_start', '{"type":"message_start"}'],
      ['delta', '{"type":"delta","a":1}'],
      ['', '{"ty'],
    ],
  );
});

test('a stream whose line ends are mixed or CR alone has the events of one with LF', () => {
  const stream = 'event: a\ndata: 1\ndata: 2\n\ndata: 3\n\ndata: 4';
  const eventsOf = (text: string) => bodyForm(bytes(text), 'text/event-stream').events;
  const expected = [
    { name: 'a', id: '', data: '1\n2' },
    { name: '', id: '', data: '3' },
    { name: '', id: '', data: '4' },
  ];
  for (const text of [stream, stream.replaceAll('\n', '\r'), stream.replaceAll('\n', '\r\n')])
    assert.equal(eventsOf(text), expected);
  assert.equal(eventsOf(stream.replace('\n', '\r')), expected);
});

test('a stream takes time by its length, however its lines end', () => {
  const lines = 'data: 1\n\n'.repeat(220_000); // 2 MB
  const msOf = (text: string): number => {
    const body = bytes(text);
    const began = performance.now();
    assert.is(bodyForm(body, 'text/event-stream').events.length, 220_000);
    return performance.now() - began;
  };
  const linear = Math.max(...[1, 2, 3].map(() => msOf(lines)), 10);
  assert.ok(msOf(`:\r${lines}`) < 20 * linear, 'one CR before lines with LF');
  assert.ok(msOf(lines.replaceAll('\n', '\r')) < 20 * linear, 'CR alone');
});

test('JSON lines are events too', () => {
  const { events } = bodyForm(bytes('{"done":false}\n{"done":true}\n'), 'application/x-ndjson');
  assert.equal(
    events.map(({ data }) => data),
    ['{"done":false}', '{"done":true}'],
  );
});

test('what is no text is hex alone; what only looks like JSON is text', () => {
  assert.equal(bodyForm(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd), '').views, ['hex']);
  assert.equal(bodyForm(bytes('a\0b'), '').views, ['hex']);
  assert.equal(bodyForm(bytes('{"a":'), 'application/json').views, ['text', 'hex']);
  assert.equal(bodyForm(bytes(''), '').views, ['text', 'hex']);
});

test('JSON of great depth does not throw', () => {
  const deep = '['.repeat(5000) + ']'.repeat(5000);
  assert.ok(bodyForm(bytes(deep), '').views.includes('text'));
});

test('rows hold every character of a text, long lines in several', () => {
  const text = `short\r\n${'x'.repeat(995)}😀y\n\nlast`;
  const rows = textRows(text, 400);
  const all = Array.from({ length: rows.count }, (_, n) => rows.row(n));
  assert.equal(
    all.map((row) => [row.text.length, row.line, row.continues]),
    [
      [5, 1, false],
      [400, 2, true],
      [400, 2, true],
      [198, 2, false],
      [0, 3, false],
      [4, 4, false],
    ],
  );
  assert.is(all[3]?.text, `${'x'.repeat(195)}😀y`);
  assert.is(rows.rowAt(text.indexOf('😀')), 3);
  assert.is(rows.rowAt(0), 0);
  assert.is(rows.rowAt(text.length), 5);
});

test('a character of two halves is never cut', () => {
  const rows = textRows('😀'.repeat(1000), 401);
  for (let n = 0; n < rows.count; n++) assert.is(rows.row(n).text.replaceAll('😀', ''), '');
});

test('an empty text is one empty row', () => {
  assert.is(textRows('').count, 1);
  assert.is(textRows('a\n').count, 1);
});

test('words are found whatever their case, unless they have capitals', () => {
  assert.equal(hitsIn('Carry the carry', 'carry'), [0, 10]);
  assert.equal(hitsIn('Carry the carry', 'Carry'), [0]);
  assert.equal(hitsIn('a.*b', '.*'), [1]);
  assert.equal(hitsIn('abc', ''), []);
});

test('a row of hex has 16 bytes, as hexdump -C has them', () => {
  const row = hexRow(bytes('0123456789abcdefsvc'), 1);
  assert.equal(row, { offset: '00000010', hex: '73 76 63', ascii: 'svc' });
  assert.is(hexRow(Uint8Array.of(0, 255, 65), 0).ascii, '··A');
  assert.is(hexRow(bytes('0123456789abcdef'), 0).hex, '30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66');
});

test.run();
