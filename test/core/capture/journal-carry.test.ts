/** A call that stays open beside heavy traffic: what it said is carried forward, and the segments it began in go. */
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Journal, openJournal } from '../../../core/capture/journal.ts';
import type { CallCopy } from '../../../core/capture/journal-copy.ts';
import { carriagePath, type SegmentFile, segmentsIn } from '../../../core/capture/journal-files.ts';
import type { JournalCall, JournalPosition } from '../../../core/capture/journal-format.ts';
import { type JournalReader, openJournalReader } from '../../../core/capture/journal-reader.ts';
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

const SEGMENT_BYTES = 20_000;
const ROUND_BYTES = 6_000; // of other traffic
const all = { entries: 1000, bytes: 1e9 };

const test = suite('journal, calls carried forward');

type Long = { copy: CallCopy; name: string; request: Uint8Array; responseChunks: Uint8Array[] };

/** A journal with calls that stay open, beside traffic; `round` writes, reads, commits and deletes as intake does. */
async function journalUnderLoad(longCalls: number) {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: 1e9, segmentBytes: SEGMENT_BYTES, log: silent });
  let position: JournalPosition | null = null;
  const open = () => {
    const positions = position ? [position] : [];
    const reader = openJournalReader({ folder, liveRunId: journal.runId, positions, log: silent });
    const deaf = journal.onWritten(reader.written);
    return Object.assign(reader, { deaf });
  };
  const longs = Array.from({ length: longCalls }, (_, n) => begun(journal, `long ${n}`, n));
  const load = {
    folder,
    journal,
    longs,
    reader: open() as JournalReader & { deaf: () => void },
    names: [] as string[],
    calls: new Map<string, JournalCall>(),
    rounds: 0,
    positions: () => (position ? [position] : []),
    async take() {
      await journal.flush();
      const entries = await load.reader.read(all);
      for (const entry of entries) {
        load.names.push(nameOf(entry));
        if (entry.kind === 'call') load.calls.set(entry.call.opened.svc_proxy_request_id, entry.call);
      }
      position = entries.at(-1)?.position ?? position;
      if (position) load.reader.committed(position);
    },
    tidy: () => load.reader.remove(load.reader.removable()),
    async round() {
      const n = load.rounds++;
      for (const long of longs) respond(long, bytesOf(40, n));
      writeCall(journal, `call ${n}`, bytesOf(ROUND_BYTES / 2, n), bytesOf(ROUND_BYTES / 2, n + 1));
      journal.recordOutcome({ at: '2026-11-21T09:30:00.000001Z', provider: 'openai', outcome: 'disabled' });
      for (const long of longs) respond(long, bytesOf(20, n + 7));
      await load.take();
    },
    /** As a process does that begins again on the same journal while its writer lives on. */
    reopen() {
      load.reader.deaf();
      load.reader.close();
      load.reader = open();
    },
    bytesOnDisk: () => segmentsIn(folder, journal.runId).reduce((sum, { bytes }) => sum + bytes, 0),
  };
  return load;
}

function begun(journal: Journal, name: string, seed: number): Long {
  const copy = journal.open(opened(name));
  assert.ok(copy);
  const request = bytesOf(700, seed);
  copy.requestBytes(request);
  copy.responseHead(answered());
  return { copy, name, request, responseChunks: [] };
}

function respond({ copy, responseChunks }: Long, bytes: Uint8Array): void {
  assert.ok(copy.responseBytes(bytes));
  responseChunks.push(bytes);
}

const responseOf = ({ responseChunks }: Long) => Buffer.concat(responseChunks);

function assertWhole(long: Long, call: JournalCall | undefined): void {
  assert.ok(call?.closed, `${long.name} is whole`);
  assert.equal(Buffer.from(call.request), Buffer.from(long.request));
  assert.equal(Buffer.from(call.response), responseOf(long));
  assert.equal(call.responseHead, answered());
}

const expected = (rounds: number) => Array.from({ length: rounds }, (_, n) => [`call ${n}`, 'counted disabled']).flat();

test('an open call keeps no more than a few segments, whatever passes beside it, and comes whole when it ends', async () => {
  const load = await journalUnderLoad(3);
  let most = 0;
  for (let n = 0; n < 120; n++) {
    await load.round();
    const before = load.bytesOnDisk();
    assert.is(await load.tidy(), before - load.bytesOnDisk(), 'what is said to be freed is freed');
    most = Math.max(most, load.bytesOnDisk());
  }
  assert.ok(most < 6 * SEGMENT_BYTES, `${most} bytes on disk at most, of ${120 * ROUND_BYTES} that passed`);
  for (const long of load.longs) long.copy.close(closed(700, responseOf(long).length));
  await load.take();
  assert.equal(load.names, [...expected(120), 'long 0', 'long 1', 'long 2']);
  for (const long of load.longs) assertWhole(long, load.calls.get(long.name));
  await load.tidy();
  assert.ok(load.bytesOnDisk() < 2 * SEGMENT_BYTES, 'and then nothing holds them any more');
  load.reader.close();
  await load.journal.close();
  assert.equal((await readDead(load.folder, load.positions())).map(nameOf), ['finished']);
});

test('killed at any moment: the open call comes as crashed with all it had said, and nothing that was taken in comes again', async () => {
  const load = await journalUnderLoad(2);
  for (let n = 0; n < 40; n++) {
    await load.round();
    const before = segmentsIn(load.folder, load.journal.runId);
    const kept = copyOf(load.folder);
    await load.tidy();
    const dead = copyOf(load.folder);
    // killed in the midst of it: the new segment is there, and those before it are still there too
    const midst = copyOf(load.folder);
    const [first] = segmentsIn(load.folder, load.journal.runId);
    for (const file of before.filter(({ segment }) => segment < (first?.segment ?? 0))) restore(file, kept, midst);
    writeFileSync(carriagePath(midst, load.journal.runId), 'the beginning of another one');
    for (const folder of [dead, midst]) {
      const entries = await readDead(folder, load.positions());
      assert.equal(entries.map(nameOf), ['long 0!', 'long 1!', 'finished']);
      for (const [index, long] of load.longs.entries()) {
        const entry = entries[index];
        assert.ok(entry?.kind === 'call');
        assert.equal(Buffer.from(entry.call.request), Buffer.from(long.request));
        assert.equal(Buffer.from(entry.call.response), responseOf(long));
      }
      assert.not(existsSync(carriagePath(folder, load.journal.runId)), 'a beginning of one is cleared away');
    }
  }
  load.reader.close();
  await load.journal.close();
});

test('a second reader of the live journal goes on from what was carried', async () => {
  const load = await journalUnderLoad(2);
  const [first, second] = load.longs;
  assert.ok(first && second);
  for (let n = 0; n < 60; n++) {
    await load.round();
    await load.tidy();
    if (n % 7 === 6) load.reopen();
    if (n === 30) {
      first.copy.close(closed(700, responseOf(first).length));
      load.longs.shift();
    }
  }
  second.copy.close(closed(700, responseOf(second).length));
  await load.take();
  assert.equal(
    load.names.filter((name) => name.startsWith('long')),
    ['long 0', 'long 1'],
  );
  assert.equal(
    load.names.filter((name) => !name.startsWith('long')),
    expected(60),
  );
  for (const long of [first, second]) assertWhole(long, load.calls.get(long.name));
  load.reader.close();
  await load.journal.close();
});

test('a call that has said more than would be gained is not written again and again', async () => {
  const load = await journalUnderLoad(1);
  const [long] = load.longs;
  assert.ok(long);
  respond(long, bytesOf(10 * SEGMENT_BYTES, 1));
  let written = 0;
  for (let n = 0; n < 60; n++) {
    await load.round();
    const name = segmentsIn(load.folder, load.journal.runId)[0]?.segment;
    await load.tidy();
    if (name !== segmentsIn(load.folder, load.journal.runId)[0]?.segment) written++;
  }
  assert.ok(written <= 2, `carried ${written} times`);
  assert.ok(load.bytesOnDisk() < 35 * SEGMENT_BYTES);
  long.copy.close(closed(700, responseOf(long).length));
  await load.take();
  assertWhole(long, load.calls.get(long.name));
  load.reader.close();
  await load.journal.close();
});

test('where the disk takes no carriage, the segments stay and nothing is lost', async () => {
  const load = await journalUnderLoad(1);
  const [long] = load.longs;
  assert.ok(long);
  mkdirSync(carriagePath(load.folder, load.journal.runId)); // a folder stands where its file would be made
  for (let n = 0; n < 30; n++) {
    await load.round();
    assert.is(await load.tidy(), 0);
  }
  const dead = await readDead(copyOf(load.folder), load.positions()).catch(() => null);
  assert.equal(dead?.map(nameOf), ['long 0!', 'finished']);
  long.copy.close(closed(700, responseOf(long).length));
  await load.take();
  assertWhole(long, load.calls.get(long.name));
  load.reader.close();
  await load.journal.close();
});

function restore({ path }: SegmentFile, from: string, to: string): void {
  const within = path.slice(-'/00000001.seg'.length - 36);
  copyFileSync(`${from}/${within}`, `${to}/${within}`);
}

test.run();
