import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openJournal } from '../../../core/capture/journal.ts';
import type { JournalEntry } from '../../../core/capture/journal-calls.ts';
import type { CallCopy } from '../../../core/capture/journal-copy.ts';
import { runsIn, segmentsIn } from '../../../core/capture/journal-files.ts';
import type { JournalPosition } from '../../../core/capture/journal-format.ts';
import { openJournalReader } from '../../../core/capture/journal-reader.ts';
import { END_OF_RUN } from '../../../core/capture/journal-run.ts';
import {
  answered,
  bytesOf,
  closed,
  copyOf,
  nameOf,
  newFolder,
  opened,
  readDead,
  silent,
  writeCall,
} from '../../support/journal-calls.ts';

const test = suite('journal reader');
const MIB = 1_048_576;
const counted = { at: '2026-11-21T09:30:00.000001Z', provider: 'openai', outcome: 'disabled' } as const;
const all = { entries: 1000, bytes: 1e9 };

type Written = {
  request: Uint8Array;
  response: Uint8Array;
  closed: boolean;
  end: { segment: number; byte_offset: number };
};

/** A journal of a few small segments: calls that interleave, a booking, and two calls left open. */
async function smallJournal(folder: string, calls = 5, segmentBytes = 700) {
  const journal = await openJournal({ folder, maxBytes: 10 * MIB, segmentBytes, log: silent });
  let end = { segment: 0, byte_offset: 0 };
  journal.onWritten((segment, byte_offset) => {
    end = { segment, byte_offset };
  });
  const written = new Map<string, Written>();
  const copies = new Map<string, CallCopy>();
  for (let step = 0; step < calls + 3; step++) {
    const name = `call-${step}`;
    const copy = step < calls + 2 ? journal.open(opened(name)) : null;
    if (copy) {
      copies.set(name, copy);
      written.set(name, {
        request: bytesOf(30 + step, step),
        response: bytesOf(50 + step, step + 1),
        closed: false,
        end,
      });
      copy.requestBytes(bytesOf(30 + step, step));
    }
    for (const earlier of [`call-${step - 1}`, `call-${step - 2}`]) {
      const chunk = written.get(earlier)?.response ?? new Uint8Array();
      const half = Math.floor(chunk.length / 2);
      if (earlier === `call-${step - 1}`) copies.get(earlier)?.responseBytes(chunk.subarray(0, half));
      else {
        copies.get(earlier)?.responseHead(answered());
        copies.get(earlier)?.responseBytes(chunk.subarray(half));
      }
    }
    const done = written.get(`call-${step - 2}`);
    if (step === 3) journal.recordOutcome(counted);
    if (done && step - 2 < calls) {
      copies.get(`call-${step - 2}`)?.close(closed(done.request.length, done.response.length));
      await journal.flush();
      done.closed = true;
      done.end = end;
    } else await journal.flush();
  }
  await journal.close();
  return { runId: journal.runId, written };
}

const assertSame = (entry: JournalEntry, written: Map<string, Written>) => {
  if (entry.kind !== 'call') return;
  const call = written.get(entry.call.opened.svc_proxy_request_id);
  if (!call) throw new Error(`Cannot know ${nameOf(entry)}: nobody wrote it`);
  assert.equal(entry.call.opened, opened(entry.call.opened.svc_proxy_request_id));
  if (entry.call.closed) {
    assert.equal(entry.call.request, call.request, nameOf(entry));
    assert.equal(entry.call.response, call.response, nameOf(entry));
    assert.equal(entry.call.responseHead, answered());
    assert.equal(entry.call.closed, closed(call.request.length, call.response.length));
  }
};

test('however calls interleave and chunks fall, live or dead, the same bytes come back, each call once, and all goes away', async () => {
  const step = fc.record({
    call: fc.nat(5),
    act: fc.constantFrom(
      'requestBytes',
      'responseBytes',
      'responseHead',
      'close',
      'book',
      'flush',
      'read',
    ) as fc.Arbitrary<'requestBytes' | 'responseBytes' | 'responseHead' | 'close' | 'book' | 'flush' | 'read'>,
    bytes: fc.oneof(fc.nat(200), fc.nat(4000)),
  });
  const property = fc.asyncProperty(
    fc.array(step, { maxLength: 120, size: 'max' }),
    fc.integer({ min: 50, max: 20_000 }),
    fc.integer({ min: 1, max: 4 }),
    async (steps, segmentBytes, most) => {
      const folder = newFolder();
      const journal = await openJournal({ folder, maxBytes: 100 * MIB, segmentBytes, log: silent });
      const reader = openJournalReader({ folder, liveRunId: journal.runId, positions: [], log: silent });
      journal.onWritten(reader.written);
      const open = new Map<
        number,
        { copy: CallCopy; name: string; requestBytes: Uint8Array[]; responseBytes: Uint8Array[] }
      >();
      const expected = new Map<string, { request: Uint8Array; response: Uint8Array }>();
      const order: string[] = [];
      const seen: string[] = [];
      let names = 0;
      const readSome = async () => {
        const entries = await reader.read({ entries: most, bytes: 5000 });
        for (const entry of entries) {
          seen.push(nameOf(entry));
          if (entry.kind !== 'call') continue;
          const call = expected.get(entry.call.opened.svc_proxy_request_id);
          assert.ok(call && Buffer.from(call.request).equals(entry.call.request));
          assert.ok(call && Buffer.from(call.response).equals(entry.call.response));
          assert.ok(entry.call.closed);
        }
        const last = entries.at(-1);
        if (last && names % 2) reader.committed(last.position);
        if (names % 3) await reader.remove(reader.removable()).then(journal.recount);
        return last;
      };
      for (const { call, act, bytes } of steps) {
        let now = open.get(call);
        if (!now) {
          const name = `call-${names++}`;
          const copy = journal.open(opened(name));
          assert.ok(copy);
          now = { copy, name, requestBytes: [], responseBytes: [] };
          open.set(call, now);
        }
        const chunk = bytesOf(bytes, names);
        if (act === 'requestBytes' || act === 'responseBytes') {
          now.copy[act](chunk);
          now[act].push(chunk);
        } else if (act === 'responseHead') now.copy.responseHead(answered());
        else if (act === 'book') {
          journal.recordOutcome(counted);
          order.push('counted disabled');
        } else if (act === 'close') {
          expected.set(now.name, {
            request: Buffer.concat(now.requestBytes),
            response: Buffer.concat(now.responseBytes),
          });
          now.copy.close(closed(0, 0));
          order.push(now.name);
          open.delete(call);
        } else if (act === 'flush') await journal.flush();
        else await readSome();
      }
      await journal.close();
      for (let last = await readSome(); last; last = await readSome()) reader.committed(last.position);
      assert.equal(seen, order);
      reader.close();

      const position = { run_id: journal.runId, segment: 0, byte_offset: 0, finished: false };
      const after = openJournalReader({ folder, liveRunId: null, positions: [position], log: silent });
      for (;;) {
        const entries = await after.read({ entries: most, bytes: 1e9 });
        for (const entry of entries) after.committed(entry.position);
        await after.remove(after.removable());
        if (entries.length === 0) break;
      }
      after.close();
      assert.equal(readdirSync(folder), []);
    },
  );
  await fc.assert(property, { numRuns: 60 });
});

test('a run cut at any byte: what was closed before is whole, what was open is not closed, and nothing throws', async () => {
  const folder = newFolder();
  const { runId, written } = await smallJournal(folder, 3);
  const files = segmentsIn(folder, runId).map((file) => ({ ...file, content: readFileSync(file.path) }));
  assert.ok(files.length >= 3);
  for (const cut of files) {
    for (let size = 0; size <= cut.bytes; size++) {
      const copy = newFolder();
      const run = join(copy, runId);
      mkdirSync(run);
      for (const file of files.filter((file) => file.segment <= cut.segment)) {
        writeFileSync(join(run, file.path.slice(-12)), file.content.subarray(0, file === cut ? size : file.bytes));
      }
      const entries = await readDead(copy);
      const found = new Map(entries.map((entry) => [nameOf(entry), entry]));
      assert.is(found.size, entries.length);
      for (const entry of entries) assertSame(entry, written);
      for (const [name, call] of written) {
        const before =
          call.closed &&
          (call.end.segment < cut.segment || (call.end.segment === cut.segment && call.end.byte_offset <= size));
        assert.is(found.has(name), before, `${name} in segment ${cut.segment} cut at ${size}`);
        if (before) assert.not(found.has(`${name}!`));
      }
      assert.is(nameOf(entries.at(-1) as JournalEntry), 'finished');
      rmSync(copy, { recursive: true });
    }
  }
});

test('flipped bits: what is handed out as closed is what was written, and at most the calls they touched are lost', async () => {
  const folder = newFolder();
  const { runId, written } = await smallJournal(folder, 6, 1500);
  const files = segmentsIn(folder, runId);
  let whole = 0;
  let rounds = 0;
  for (const file of files) {
    const content = readFileSync(file.path);
    for (let at = 0; at < content.length; at += 7, rounds++) {
      const flipped = Buffer.from(content);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(file.path, flipped);
      const entries = await readDead(folder);
      const names = entries.map((entry) => nameOf(entry).replace('!', ''));
      assert.is(new Set(names).size, names.length, 'nothing comes twice');
      for (const entry of entries) assertSame(entry, written);
      whole += entries.filter((entry) => entry.kind === 'call' && entry.call.closed).length;
      if (at >= 8) assert.is(names.at(-1), 'finished');
    }
    writeFileSync(file.path, content);
  }
  assert.ok(whole / rounds > 4, `${whole / rounds} of 6 calls are whole after a flipped bit`);
});

test('a flipped bit in one payload costs that call alone', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: MIB, log: silent });
  const long = journal.open(opened('long'));
  long?.responseHead(answered());
  for (let i = 0; i < 5; i++) writeCall(journal, `call-${i}`, Buffer.from(`request-${i}`), bytesOf(10, i));
  long?.responseBytes(bytesOf(100, 1));
  long?.close(closed(0, 100));
  await journal.close();
  const [file] = segmentsIn(folder, journal.runId);
  const content = readFileSync(file?.path ?? '');
  content[content.indexOf('request-2')] = 0;
  writeFileSync(file?.path ?? '', content);
  const entries = await readDead(folder);
  assert.equal(entries.map(nameOf), ['call-0', 'call-1', 'call-2!', 'call-3', 'call-4', 'long', 'finished']);
});

test('from every position on, each entry comes exactly once, also while segments are deleted', async () => {
  const folder = newFolder();
  const { runId } = await smallJournal(folder);
  const entries = await readDead(folder);
  const names = entries.map(nameOf);
  assert.is(names.length, 5 + 1 + 2 + 1);
  assert.is(entries.at(-2)?.position.segment, END_OF_RUN);
  const placeOf = ({ segment, byte_offset }: JournalPosition) => segment * 1e6 + byte_offset;
  const places = entries.map(({ position }) => placeOf(position));
  assert.ok(
    places.every((place, i) => i === 0 || place > (places[i - 1] ?? 0)),
    'each place lies behind the one before',
  );
  for (const most of [1, 2, 1000]) {
    for (let i = 0; i < entries.length; i++) {
      const position = entries[i]?.position as JournalPosition;
      const rest = await readDead(folder, [position], most);
      assert.equal(rest.map(nameOf), names.slice(i + 1));
      assert.equal(
        rest.map((entry) => entry.position),
        entries.slice(i + 1).map((entry) => entry.position),
      );
    }
  }
  // A process that dies after each commit, having deleted what it could
  const shrinking = copyOf(folder);
  const seen: string[] = [];
  let position: JournalPosition | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  while (!position?.finished) {
    const reader = openJournalReader({
      folder: shrinking,
      liveRunId: null,
      positions: position ? [position] : [],
      log: silent,
    });
    const [entry] = await reader.read({ entries: 1, bytes: 1e9 });
    if (!entry) throw new Error('Cannot go on: nothing came');
    seen.push(nameOf(entry));
    assert.ok(!position || placeOf(entry.position) > placeOf(position));
    position = entry.position;
    reader.committed(position);
    await reader.remove(reader.removable());
    reader.close();
    const left = segmentsIn(shrinking, runId).length;
    assert.ok(left <= fewest);
    fewest = left;
  }
  assert.equal(seen, names);
  assert.equal(readdirSync(shrinking), []);
});

test('the end of a run stands behind its crashed calls, also when their segments are gone', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: MIB, segmentBytes: 100, log: silent });
  journal.open(opened('a'));
  await journal.flush();
  journal.recordOutcome(counted);
  await journal.close();
  const first = openJournalReader({ folder, liveRunId: null, positions: [], log: silent });
  const [, crashed] = await first.read({ entries: 2, bytes: 1e9 });
  assert.equal(crashed?.position, { run_id: journal.runId, segment: END_OF_RUN, byte_offset: 1, finished: false });
  first.committed(crashed?.position as JournalPosition);
  assert.ok((await first.remove(first.removable())) > 0);
  first.close();
  const [finished] = await readDead(folder, [crashed?.position as JournalPosition]);
  assert.equal(finished?.position, { run_id: journal.runId, segment: END_OF_RUN, byte_offset: 2, finished: true });
});

test('a live run read again by a second reader goes on where the first one committed', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: MIB, segmentBytes: 500, log: silent });
  const options = { folder, liveRunId: journal.runId, log: silent };
  const first = openJournalReader({ ...options, positions: [] });
  const stop = journal.onWritten(first.written);
  const long = journal.open(opened('long'));
  long?.requestBytes(bytesOf(300, 1));
  for (const name of ['a', 'b', 'c']) {
    writeCall(journal, name, bytesOf(100, 1), bytesOf(400, 2));
    await journal.flush();
  }
  const [a, b] = await first.read({ entries: 2, bytes: 1e9 });
  assert.equal(
    [a, b].map((entry) => entry && nameOf(entry)),
    ['a', 'b'],
  );
  first.committed(a?.position as JournalPosition);
  assert.equal(first.removable(), [], 'the long call began in the first segment');
  stop();
  first.close();

  const second = openJournalReader({ ...options, positions: [a?.position as JournalPosition] });
  assert.equal(await second.read(all), [], 'nothing is read before the writer said how far it is');
  journal.onWritten(second.written);
  assert.equal((await second.read(all)).map(nameOf), ['b', 'c']);
  long?.close(closed(300, 0));
  writeCall(journal, 'd', bytesOf(1, 1), bytesOf(1, 1));
  await journal.flush();
  const rest = await second.read(all);
  assert.equal(rest.map(nameOf), ['long', 'd']);
  const before = segmentsIn(folder, journal.runId).length;
  assert.equal(second.removable(), [], 'nothing is committed');
  second.committed(rest.at(-1)?.position as JournalPosition);
  assert.is(second.removable().length, before - 1, 'all but the one being written');
  await second.remove(second.removable());
  journal.recount();
  const [last, ...others] = segmentsIn(folder, journal.runId);
  assert.equal(others, []);
  assert.is(journal.bytes(), last?.bytes);
  second.close();
  await journal.close();
  assert.equal((await readDead(folder, [rest.at(-1)?.position as JournalPosition])).map(nameOf), ['finished']);
});

test('when another process writes, the run of the last one is read to its end, then that of the next', async () => {
  const folder = newFolder();
  const last = await openJournal({ folder, maxBytes: MIB, segmentBytes: 500, log: silent });
  const reader = openJournalReader({ folder, liveRunId: last.runId, positions: [], log: silent });
  const stop = last.onWritten(reader.written);
  writeCall(last, 'a', bytesOf(100, 1), bytesOf(400, 2));
  await last.flush();
  assert.equal((await reader.read(all)).map(nameOf), ['a']);
  stop(); // its process is killed: what it has written since is in the files, and nobody reports it
  writeCall(last, 'b', bytesOf(400, 1), bytesOf(400, 2));
  last.open(opened('cut off'))?.requestBytes(bytesOf(10, 1));
  await last.flush();
  assert.equal(await reader.read(all), []);

  const next = await openJournal({ folder, maxBytes: MIB, log: silent });
  reader.nextRun(next.runId);
  next.onWritten(reader.written);
  writeCall(next, 'c', bytesOf(10, 1), bytesOf(10, 2));
  await next.flush();
  const rest = await reader.read(all);
  assert.equal(rest.map(nameOf), ['b', 'cut off!', 'finished', 'c']);
  assert.equal(
    rest.map(({ position }) => position.run_id),
    [last.runId, last.runId, last.runId, next.runId],
  );
  for (const { position } of rest) reader.committed(position);
  await reader.remove(reader.removable());
  assert.equal(segmentsIn(folder, last.runId), [], 'nothing of the last run is needed any more');
  reader.close();
  await next.close();
  await last.close();
});

test('dead runs come first and the oldest of them before the others; finished ones are only deleted', async () => {
  const folder = newFolder();
  const ids: string[] = [];
  for (const name of ['one', 'two', 'three']) {
    const journal = await openJournal({ folder, maxBytes: MIB, log: silent });
    writeCall(journal, name, bytesOf(10, 1), bytesOf(10, 1));
    await journal.close();
    ids.push(journal.runId);
  }
  writeFileSync(join(folder, 'notes.txt'), 'not ours');
  const live = await openJournal({ folder, maxBytes: MIB, log: silent });
  const finished = { run_id: ids[1] ?? '', segment: END_OF_RUN, byte_offset: 1, finished: true };
  const reader = openJournalReader({ folder, liveRunId: live.runId, positions: [finished], log: silent });
  live.onWritten(reader.written);
  writeCall(live, 'now', bytesOf(10, 1), bytesOf(10, 1));
  await live.flush();
  assert.equal(
    reader.removable().map((file) => file.run_id),
    [ids[1]],
  );
  const entries = await reader.read(all);
  assert.equal(entries.map(nameOf), ['one', 'finished', 'three', 'finished', 'now']);
  for (const entry of entries) reader.committed(entry.position);
  await reader.remove(reader.removable());
  assert.equal(runsIn(folder), [live.runId]);
  assert.ok(existsSync(join(folder, 'notes.txt')));
  reader.close();
  await live.close();
});

test('limits: so many entries, so many bytes, but always at least one', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: 10 * MIB, log: silent });
  for (const [i, size] of [100, 100, 5000, 100, 100].entries())
    writeCall(journal, `${i}`, bytesOf(size, 1), bytesOf(0, 1));
  await journal.close();
  const reader = openJournalReader({ folder, liveRunId: null, positions: [], log: silent });
  const reads: string[] = [];
  for (;;) {
    const entries = await reader.read({ entries: 3, bytes: 250 });
    if (entries.length === 0) break;
    reads.push(entries.map(nameOf).join(' '));
  }
  assert.equal(reads, ['0 1', '2', '3 4 finished']);
  reader.close();
});

test('of a call over the limit nothing is loaded: it comes with its end and without bodies', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: 10 * MIB, log: silent });
  const copy = journal.open(opened('large'));
  copy?.requestBytes(bytesOf(MIB, 1));
  copy?.responseHead(answered());
  copy?.close({ ...closed(2 * MIB, 0), cut: 'request', over_limit: true });
  await journal.close();
  const reader = openJournalReader({ folder, liveRunId: null, positions: [], log: silent });
  const [entry] = await reader.read(all);
  assert.is(entry?.kind === 'call' && entry.call.closed?.over_limit, true);
  assert.is(entry?.kind === 'call' && entry.call.request.byteLength, 0);
  reader.close();
});

test('segments missing from the middle or the front: what needs them is not handed out as whole', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: MIB, segmentBytes: 100, log: silent });
  const copies = ['a', 'b'].map((name) => journal.open(opened(name)));
  await journal.flush();
  for (const copy of copies) copy?.requestBytes(bytesOf(200, 1));
  await journal.flush();
  for (const copy of copies) copy?.responseHead(answered());
  const late = journal.open(opened('late'));
  late?.responseHead(answered());
  await journal.flush();
  for (const copy of copies) copy?.close(closed(200, 0));
  late?.close(closed(0, 0));
  await journal.close();
  const path = (segment: number, of = folder) => join(of, journal.runId, `0000000${segment}.seg`);
  const middle = copyOf(folder);
  rmSync(path(2, middle));
  assert.equal((await readDead(middle)).map(nameOf), ['a!', 'b!', 'late', 'finished']);
  const front = copyOf(folder);
  rmSync(path(1, front));
  assert.equal((await readDead(front)).map(nameOf), ['late', 'finished']);
  const short = copyOf(folder);
  truncateSync(path(2, short), 150);
  assert.equal((await readDead(short)).map(nameOf), ['a!', 'b!', 'late', 'finished']);
  const zeros = copyOf(folder);
  appendFileSync(path(4, zeros), Buffer.alloc(4096));
  assert.equal((await readDead(zeros)).map(nameOf), ['a', 'b', 'late', 'finished']);
});

test('a segment that disappears between the reading and the loading of a body', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: 100 * MIB, segmentBytes: MIB, log: silent });
  const reader = openJournalReader({ folder, liveRunId: journal.runId, positions: [], log: silent });
  journal.onWritten(reader.written);
  const copy = journal.open(opened('a'));
  for (let i = 0; i < 40; i++) {
    copy?.responseBytes(bytesOf(MIB, i));
    await journal.flush();
  }
  assert.equal(await reader.read(all), []);
  rmSync(join(folder, journal.runId, '00000003.seg'));
  copy?.close(closed(0, 40 * MIB));
  await journal.close();
  const [entry] = await reader.read(all);
  if (entry?.kind !== 'call') throw new Error('no call');
  assert.is(entry.call.closed, null);
  assert.ok(entry.call.response.length < 3 * MIB);
  reader.close();
});

test('a run of another version is left alone', async () => {
  const folder = newFolder();
  const { runId } = await smallJournal(folder);
  const [file] = segmentsIn(folder, runId);
  const content = readFileSync(file?.path ?? '');
  content[7] = 2;
  writeFileSync(file?.path ?? '', content);
  const reader = openJournalReader({ folder, liveRunId: null, positions: [], log: silent });
  assert.equal(await reader.read(all), []);
  assert.equal(reader.removable(), []);
  reader.close();
});

test('a body of 200 MB costs no memory while its call is open, on neither side', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: 1000 * MIB, log: silent });
  const reader = openJournalReader({ folder, liveRunId: journal.runId, positions: [], log: silent });
  journal.onWritten(reader.written);
  const copy = journal.open(opened('big'));
  copy?.responseHead(answered());
  const chunk = bytesOf(65_536, 3);
  const before = process.memoryUsage().rss;
  for (let i = 0; i < 3200; i++) {
    if (!copy?.responseBytes(chunk)) throw new Error('the disk is too slow');
    if (i % 64 === 0) {
      await journal.flush();
      assert.equal(await reader.read(all), []);
    }
  }
  await journal.flush();
  assert.equal(await reader.read(all), []);
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 100 * MIB, `RSS grew by ${Math.round(grown / MIB)} MiB`);
  copy?.close(closed(0, 3200 * 65_536));
  await journal.close();
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const [entry] = await reader.read(all);
  clearInterval(timer);
  if (entry?.kind !== 'call') throw new Error('no call');
  assert.ok(entry.call.closed);
  assert.is(entry.call.response.length, 3200 * 65_536);
  for (let i = 0; i < 3200; i += 100)
    assert.is(Buffer.compare(entry.call.response.subarray(i * 65_536, (i + 1) * 65_536), chunk), 0);
  assert.ok(turns > 3, `others had ${turns} turns while the body was loaded`);
  reader.close();
});

test.run();
