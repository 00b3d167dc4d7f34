import { suite } from 'uvu';
import { closeStands } from '../stand.ts';
import { keptWhatPassed, passesUnchanged } from './play.ts';
import {
  answerHead,
  answers,
  asks,
  byteByByte,
  chunk,
  eventStream,
  lastChunk,
  type Script,
  streams,
  upstream,
} from './script.ts';

const test = suite('scripted upstreams: event streams and lines of JSON');
test.after.each(closeStands);

const utf8 = (text: string) => Buffer.from(text);
const longLine = `data: ${'x'.repeat(2_097_152)}`;
const smile = utf8('data: {"text":"\u{1f600}"}\n\n');
const ndjson = (...lines: (string | Buffer)[]): Script => [
  asks('{"model":"m","stream":true}'),
  ...streams(['Content-Type: application/x-ndjson'], ...lines),
];

const SCRIPTS: Record<string, Script> = {
  'events with LF': eventStream(
    'event: message_start\ndata: {"a":1}\n\n',
    'event: ping\ndata: {}\n\n',
    'data: [DONE]\n\n',
  ),
  'events with CRLF': eventStream('event: a\r\ndata: 1\r\n\r\n', 'event: b\r\ndata: 2\r\n\r\n'),
  'events with CR alone': eventStream('data: 1\r\r', 'data: 2\r\r'),
  'line ends of all kinds, torn between CR and LF': eventStream(
    'data: 1\r',
    '\n\r',
    '\n',
    'data: 2\n',
    '\r\n',
    'data: 3\r\n\n',
  ),
  'comments that keep a connection awake': eventStream(
    ': OPENROUTER PROCESSING\n\n',
    ':\n\n',
    'data: 1\n\n',
    ': bye\n\n',
  ),
  'retry, ids and fields that nobody knows': eventStream(
    'retry: 3000\n\n',
    'id: 7\ndata: 1\n\n',
    'data\nid\n\n',
    'x-what: 1\n\n',
  ),
  'data of several lines': eventStream('data: {\ndata:   "a": 1,\ndata: }\n\n', 'data:\ndata:\n\n'),
  'a line of 2 MiB': eventStream('data: 1\n\n', `${longLine}\n\n`, 'data: 2\n\n'),
  'a line of 2 MiB that comes in two halves': eventStream(
    longLine.slice(0, 1_000_000),
    longLine.slice(1_000_000),
    '\n\n',
  ),
  'no blank line behind the last event': eventStream('data: 1\n\n', 'data: 2\n'),
  'no line end behind the last event': eventStream('data: 1\n\n', 'data: [DONE]'),
  'a byte order mark and letters cut in their middle': eventStream(
    utf8('\ufeff'),
    smile.subarray(0, 17),
    smile.subarray(17),
  ),
  'bytes that are no UTF-8': eventStream(Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0xfe, 0x00, 0x0a, 0x0a])),
  'blank lines and nothing else': eventStream('\n', '\n\n', '\r\n'),
  'a stream without an event': eventStream(),
  'an event in many chunks, and many events in one': eventStream(
    'da',
    'ta',
    ': ',
    '1',
    '\n',
    '\ndata: 2\n\ndata: 3\n\n',
  ),
  'events one byte at a time': [
    asks('{"stream":true}'),
    upstream(answerHead('200 OK', ['Content-Type: text/event-stream', 'Transfer-Encoding: chunked'])),
    ...byteByByte('upstream', chunk('event: a\r\ndata: {"b":1}\r\n\r\n'), chunk('data: 2\n\n'), lastChunk()),
  ],
  'an event stream whose length is told': [
    asks('{"stream":true}'),
    answers('200 OK', ['Content-Type: text/event-stream'], 'data: 1\n\ndata: 2\n\n'),
  ],
  'an error in the middle of a stream': eventStream(
    'event: message_start\ndata: {}\n\n',
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  ),
  'lines of JSON': ndjson('{"a":1}\n', '{"b":2}\n', '{"done":true}\n'),
  'lines of JSON with blank ones between': ndjson('\n{"a":1}\n\n', '\n\n', '{"b":2}\r\n\r\n', '{"done":true}\n\n'),
  'a line of JSON of 2 MiB': ndjson('{"a":1}\n', `{"b":"${longLine}"}\n`, '{"done":true}\n'),
  'lines of JSON, torn, the last without its end': ndjson('{"a', '":1}', '\n{"b":2}\n{"do', 'ne":true}'),
};

for (const [what, script] of Object.entries(SCRIPTS)) {
  test(`${what}: each frame arrives before the next, and is kept`, async () =>
    keptWhatPassed(await passesUnchanged(script)));
}

test.run();
