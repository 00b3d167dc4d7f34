import fc from 'fast-check';
import { suite } from 'uvu';
import { closeStands } from '../stand.ts';
import { keptWhatPassed, passesUnchanged } from './play.ts';
import {
  answerHead,
  askHead,
  chunk,
  client,
  lastChunk,
  type Script,
  type Step,
  upstream,
  upstreamLeaves,
} from './script.ts';

const test = suite('scripted upstreams: boundaries anywhere');
test.after.each(closeStands);

type Framing = 'length' | 'chunks' | 'close';

/** Weights of the places where something is cut: any place of any length can come of them. */
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 });
const body = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.constantFrom(
    Buffer.from('data: {"text":"\u{1f600}"}\r\n\r\ndata: 2\n\n'),
    Buffer.from('0\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'), // what would end a body if it were no body
    Buffer.alloc(150_000, 'x\n'),
  ),
);

const cutAt = (bytes: Buffer, places: readonly number[]): Buffer[] => {
  const at = [0, ...places.map((place) => Math.round(place * bytes.length)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).flatMap((end, n) => ((at[n] ?? 0) < end ? [bytes.subarray(at[n], end)] : []));
};

/** Head and body as they stand on the wire, the body in chunks that are cut at `places` where it is in chunks. */
const wireOf = (head: (framing: string[]) => string, framing: Framing, bytes: Buffer, places: number[]): Buffer => {
  if (framing === 'close') return Buffer.concat([Buffer.from(head(['Connection: close'])), bytes]);
  if (framing === 'length') return Buffer.concat([Buffer.from(head([`Content-Length: ${bytes.length}`])), bytes]);
  const chunks = cutAt(bytes, places).map((piece) => chunk(piece));
  return Buffer.concat([Buffer.from(head(['Transfer-Encoding: chunked'])), ...chunks, Buffer.from(lastChunk())]);
};

const side = (...framings: Framing[]) =>
  fc.record({ bytes: body, framing: fc.constantFrom(...framings), chunks: cuts, writes: cuts });

const steps = (written: (wire: Buffer) => Step, wire: Buffer, writes: readonly number[]): Step[] =>
  cutAt(wire, writes).map((piece) => written(piece));

test('wherever the bodies are cut into chunks, and chunks and heads into writes: the same bytes arrive, as soon, and are kept', async () => {
  await fc.assert(
    fc
      .asyncProperty(side('length', 'chunks'), side('length', 'chunks', 'close'), async (request, answer) => {
        const requestWire = wireOf(
          (lines) => askHead('/v1/messages', lines),
          request.framing,
          Buffer.from(request.bytes),
          request.chunks,
        );
        const answerWire = wireOf(
          (lines) => answerHead('200 OK', lines),
          answer.framing,
          Buffer.from(answer.bytes),
          answer.chunks,
        );
        const script: Script = [
          ...steps(client, requestWire, request.writes),
          ...steps(upstream, answerWire, answer.writes),
          ...(answer.framing === 'close' ? [upstreamLeaves()] : []),
        ];
        keptWhatPassed(await passesUnchanged(script));
      })
      .afterEach(closeStands),
    { numRuns: 60 },
  );
});

test.run();
