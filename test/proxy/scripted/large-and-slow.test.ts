import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { closeStands } from '../stand.ts';
import { keptWhatPassed, passesUnchanged } from './play.ts';
import {
  answerHead,
  answers,
  askHead,
  asks,
  chunk,
  client,
  clientLeaves,
  eventStream,
  lastChunk,
  pause,
  type Script,
  streams,
  upstream,
  upstreamLeaves,
} from './script.ts';

const test = suite('scripted upstreams: large bodies, slow ones, and ends that come early');
test.after.each(closeStands);

const LARGE = Buffer.alloc(20_000_000, 'event: x\ndata: 0123456789\n\n');
const eventHead = answerHead('200 OK', ['Content-Type: text/event-stream', 'Transfer-Encoding: chunked']);
const upload = (bytes: number) => client(askHead('/v1/messages', [`Content-Length: ${bytes}`]));

const WHOLE: Record<string, Script> = {
  'a request of 20 MB': [asks(LARGE), answers('200 OK', [], '{}')],
  'a request of 20 MB in chunks': [
    client(askHead('/v1/messages', ['Transfer-Encoding: chunked']), chunk(LARGE), lastChunk()),
    answers('200 OK', [], '{}'),
  ],
  'an answer of 20 MB': [asks(), answers('200 OK', [], LARGE)],
  'an answer of 20 MB in chunks': [asks(), ...streams([], LARGE.subarray(0, 7), LARGE.subarray(7))],
  'a slow answer': eventStream('data: 1\n\n', 'data: 2\n\n').flatMap((step) => [step, pause(150)]),
  'a slow request': [
    upload(6),
    ...['ab', 'cd', 'ef'].flatMap((piece) => [pause(150), client(piece)]),
    pause(300),
    answers('200 OK', [], '{}'),
  ],
  'an answer that is whole before the request is': [
    upload(6),
    client('ab'),
    answers('200 OK', [], '{"early":true}'),
    client('cd'),
    client('ef'),
  ],
  'an answer that streams while the request does': [
    upload(6),
    upstream(eventHead, chunk('data: 1\n\n')),
    client('ab'),
    upstream(chunk('data: 2\n\n')),
    client('cdef'),
    upstream(chunk('data: 3\n\n'), lastChunk()),
  ],
  'a refusal before the request has ended, which the client ends all the same': [
    upload(4),
    client('ab'),
    answers('413 Payload Too Large', [], 'too large'),
    client('cd'),
  ],
};

for (const [what, script] of Object.entries(WHOLE)) {
  test(`${what} passes as it comes, and is kept`, async () => keptWhatPassed(await passesUnchanged(script)));
}

const TORN: Record<string, Script> = {
  'a stream torn between its chunks': [asks(), upstream(eventHead, chunk('data: 1\n\n')), upstreamLeaves()],
  'a stream torn within a chunk': [asks(), upstream(eventHead, '20\r\ndata: 1'), upstreamLeaves()],
  'a stream torn before its last line': [asks(), upstream(eventHead, chunk('data: 1\n\n'), '0\r\n'), upstreamLeaves()],
  'a stream that is reset': [asks(), upstream(eventHead), upstream(chunk('data: 1\n\n')), upstreamLeaves('abruptly')],
  'an answer shorter than it said': [
    asks(),
    upstream(answerHead('200 OK', ['Content-Length: 99']), '{"a"'),
    upstreamLeaves(),
  ],
  'an answer torn behind its head': [asks(), upstream(answerHead('200 OK', ['Content-Length: 99'])), upstreamLeaves()],
  'an answer until the close, which is reset': [
    asks(),
    upstream(answerHead('200 OK', ['Connection: close']), '{"a":1}'),
    upstreamLeaves('abruptly'),
  ],
};

for (const [what, script] of Object.entries(TORN)) {
  test(`${what} is torn at the same byte for the client and in the journal`, async () => {
    const played = await passesUnchanged(script);
    assert.is(played.responses[0]?.whole, false);
    keptWhatPassed(played);
  });
}

const LEFT: Record<string, Script> = {
  'before the answer': [asks(), clientLeaves],
  'in the middle of the answer': [asks(), upstream(eventHead, chunk('data: 1\n\n')), clientLeaves],
  'in the middle of the request': [upload(6), client('ab'), clientLeaves],
};

for (const [when, script] of Object.entries(LEFT)) {
  test(`a client that leaves ${when} is gone for the upstream too, and what passed is kept`, async () => {
    const { requests, responses, calls } = await passesUnchanged(script);
    assert.is(calls[0]?.closed?.ending, 'client_closed');
    assert.equal(Buffer.from(calls[0]?.request ?? []), Buffer.concat(requests[0]?.body ?? []));
    assert.equal(Buffer.from(calls[0]?.response ?? []), Buffer.concat(responses[0]?.body ?? []));
  });
}

test.run();
