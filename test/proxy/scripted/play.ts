/** What do both sides of a script get, with nothing between them and through the proxy, and what has the journal of it? */
import { type AddressInfo, createServer, Socket } from 'node:net';
import * as assert from 'uvu/assert';
import { openJournal } from '../../../core/capture/journal.ts';
import type { JournalCall } from '../../../core/capture/journal-format.ts';
import { redactHeaders } from '../../../core/capture/redact.ts';
import { newFolder, readDead, silent } from '../../support/journal-calls.ts';
import { openStand, type Stand } from '../stand.ts';
import type { Script, Step } from './script.ts';
import { bodyBytes, type Message, progressOf, wireReader } from './wire.ts';

/** What came out of the wire, at its two ends. */
export type Played = {
  requests: Message[]; // by the upstream
  responses: Message[]; // by the client
  /** After each frame that was held: how many bytes of bodies each side had by then. */
  boundaries: string[];
};

const HELD_BACK_MS = 30_000; // as long as a slow machine may need; a frame that is held back never comes

/**
 * Plays the script twice, straight to an upstream and through the proxy with its journal on disk, and compares: both sides get the same,
 * each frame before the next one leaves, and the journal has what passed.
 * @returns what passed through the proxy, and the journal's calls
 */
export async function passesUnchanged(script: Script): Promise<Played & { calls: JournalCall[] }> {
  const direct = await playThere(script, (port) => port);
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: 1e9, pendingBytes: 1e8, log: silent });
  const stands: Stand[] = [];
  const through = await playThere(script, async (port) => {
    const stand = await openStand([], { upstreamUrl: `http://127.0.0.1:${port}`, deps: { journal } });
    stands.push(stand);
    return stand.port;
  });
  for (const stand of stands) await stand.outcomes(through.requests.length);
  await journal.close();
  assert.equal(through.boundaries, direct.boundaries, 'what each side had after each frame');
  sameMessages(through.responses, direct.responses);
  sameMessages(through.requests, direct.requests);
  const calls = (await readDead(folder)).flatMap((entry) => (entry.kind === 'call' ? [entry.call] : []));
  return { ...through, calls };
}

/** What was kept of the script's only call is what passed; of an answer that was torn, as much as the client has. */
export function keptWhatPassed({ requests, responses, calls }: Played & { calls: JournalCall[] }): void {
  const [call] = calls;
  const [request] = requests;
  const answer = responses.find(({ start }) => !/ 1\d\d /.test(start));
  assert.is(calls.length, 1);
  sameBytes(Buffer.from(call?.request ?? []), bodyOf(request), 'the request as it is kept');
  sameBytes(Buffer.from(call?.response ?? []), bodyOf(answer), 'the answer as it is kept');
  assert.is(call?.responseHead?.status, Number(answer?.start.split(' ')[1]));
  const passed = (headers: readonly [string, string][]) => endToEnd(headers).map(lineOf);
  assert.equal(passed(call?.responseHead?.headers ?? []), passed(redactHeaders(answer?.headers.flat() ?? [])));
  assert.equal(passed(call?.opened.headers ?? []), passed(redactHeaders(request?.headers.flat() ?? [])));
  assert.is(call?.closed?.ending, answer?.whole ? 'complete' : 'upstream_cut');
  assert.is(call?.closed?.cut, 'none');
}

/** @param portOf where the client goes, when the upstream stands at a port */
async function playThere(script: Script, portOf: (port: number) => number | Promise<number>): Promise<Played> {
  const room = listeningRoom();
  const methods: string[] = [];
  const methodOf = (answer: number) => methods[answer] ?? 'GET';
  const upstream = await openUpstreamEnd(room);
  const client = await openClientEnd(await portOf(upstream.port), methodOf, room);
  const ends = { client, upstream };
  const written = { client: wireReader(), upstream: wireReader({ methodOf }) }; // what has come when all has
  const boundaries: string[] = [];
  const hasAll = (side: Side) => progressOf(ends[side].messages) === progressOf(written[otherThan(side)].messages);
  const take = async (step: Step) => {
    if ('waitsMs' in step) {
      await new Promise((resolve) => setTimeout(resolve, step.waitsMs));
      return;
    }
    const other = otherThan(step.by);
    const socket = ends[step.by].socket();
    if (!socket) throw new Error('nothing was asked');
    if ('leaves' in step) {
      written[step.by].ended(step.leaves === 'abruptly');
      if (step.leaves === 'gently') socket.end();
      else socket.resetAndDestroy();
      const isWhole = () => other === 'client' && hasAll(other) && client.messages.at(-1)?.whole === true;
      await room.until(other, () => ends[other].socket()?.destroyed === true || isWhole());
      return;
    }
    written[step.by].read(step.wire);
    methods.splice(0, methods.length, ...written.client.messages.map(({ start }) => start.split(' ', 1)[0] as string));
    socket.write(step.wire);
    if (!step.held) {
      await new Promise((resolve) => setImmediate(resolve));
      return;
    }
    await room.until(other, () => hasAll(other));
    boundaries.push(`${bodyBytes(upstream.messages)} asked, ${bodyBytes(client.messages)} answered`);
  };
  try {
    for (const [at, step] of script.entries()) {
      await take(step).catch((error: Error) => {
        throw new Error(`Cannot play step ${at + 1} of ${script.length}: ${error.message}`);
      });
    }
  } finally {
    client.socket().destroy();
    upstream.close();
  }
  return { requests: upstream.messages, responses: client.messages, boundaries };
}

type Side = 'client' | 'upstream';
const otherThan = (side: Side): Side => (side === 'client' ? 'upstream' : 'client');

/** An upstream that says nothing by itself; its connections are one to the script, which answers on that of the last request. */
async function openUpstreamEnd(room: Room) {
  const messages: Message[] = [];
  const sockets: Socket[] = []; // in the order of their requests
  const server = createServer((socket) => {
    const reader = wireReader({ messages });
    socket.setNoDelay(true);
    socket.on('error', () => {}); // its 'close' follows
    socket.on('close', () => room.tell('upstream'));
    socket.on('data', (bytes) => {
      const before = messages.length;
      reader.read(bytes);
      if (messages.length > before) sockets.push(socket);
      room.tell('upstream');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    messages,
    socket: () => sockets.at(-1),
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function openClientEnd(port: number, methodOf: (answer: number) => string, room: Room) {
  const messages: Message[] = [];
  const reader = wireReader({ methodOf, messages });
  const socket = new Socket();
  let torn = false;
  socket.on('error', () => {
    torn = true;
  });
  socket.on('data', (bytes) => {
    reader.read(bytes);
    room.tell('client');
  });
  socket.on('close', () => {
    reader.ended(torn);
    room.tell('client');
  });
  await new Promise<void>((resolve) => socket.connect(port, '127.0.0.1', resolve));
  socket.setNoDelay(true);
  return { messages, socket: () => socket };
}

type Room = ReturnType<typeof listeningRoom>;

/** Where a side waits until it hears something that it waits for. */
function listeningRoom() {
  const waiting = { client: new Set<() => void>(), upstream: new Set<() => void>() };
  return {
    tell(place: Side) {
      for (const look of waiting[place]) look();
    },
    until: (place: Side, fact: () => boolean): Promise<void> =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          waiting[place].delete(look);
          reject(new Error(`what was sent to the ${place} was held back`));
        }, HELD_BACK_MS);
        const look = () => {
          if (!fact()) return;
          clearTimeout(late);
          waiting[place].delete(look);
          resolve();
        };
        waiting[place].add(look);
        look();
      }),
  };
}

const HOP_BY_HOP = /^(connection|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*|host)$/i;

const endToEnd = (headers: readonly (readonly [string, string])[]) =>
  headers.filter(([name]) => !HOP_BY_HOP.test(name));
const lineOf = ([name, value]: readonly [string, string]) => `${name}: ${value}`;
const bodyOf = (message: Message | undefined) => Buffer.concat(message?.body ?? []);

/** Of an upstream the version is its own, and each side of the proxy has its own connection; all else is one and the same. */
const shownOf = ({ start, headers, trailers, whole }: Message) => ({
  start: start.replace(/^HTTP\/1\.[01]/, 'HTTP/1.1'),
  headers: endToEnd(headers).map(lineOf),
  trailers: trailers.map(lineOf),
  whole,
});

function sameMessages(through: readonly Message[], direct: readonly Message[]): void {
  assert.equal(through.map(shownOf), direct.map(shownOf));
  for (const [at, message] of direct.entries()) sameBytes(bodyOf(through[at]), bodyOf(message), message.start);
}

/** Without a picture of the difference, which for megabytes takes longer than all tests. */
function sameBytes(through: Buffer, direct: Buffer, what: string): void {
  assert.ok(through.equals(direct), `${what}: ${through.length} bytes are not the ${direct.length} that came`);
}
