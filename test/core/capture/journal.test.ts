import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { v7 } from 'uuid';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openJournal } from '../../../core/capture/journal.ts';
import { runFolder, runsIn, segmentsIn } from '../../../core/capture/journal-files.ts';
import { openJournalReader } from '../../../core/capture/journal-reader.ts';
import { type SegmentWrite, writeSegment } from '../../../core/capture/journal-tail.ts';
import { OperatorError } from '../../../core/errors.ts';
import { eventually } from '../../support/eventually.ts';
import {
  answered,
  bytesOf,
  closed,
  nameOf,
  newFolder,
  opened,
  readDead,
  silent,
  writeCall,
} from '../../support/journal-calls.ts';

const test = suite('journal');
const MIB = 1_048_576;
const DEADLINE_MS = 30_000;
const counted = { at: '2026-11-21T09:30:00.000001Z', provider: 'openai', outcome: 'not_a_turn' } as const;

const diskBytes = (folder: string) =>
  runsIn(folder)
    .flatMap((run) => segmentsIn(folder, run))
    .reduce((sum, file) => sum + file.bytes, 0);

const until = async (done: () => boolean) => {
  const deadline = performance.now() + DEADLINE_MS;
  while (!done()) {
    if (performance.now() > deadline) throw new Error('Cannot wait any longer');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
};

test('what is appended reaches the disk by itself, and nobody else may read it', async () => {
  const folder = join(newFolder(), 'below', 'journal');
  const journal = await openJournal({ folder, maxBytes: MIB, log: silent });
  const heard: string[] = [];
  journal.onWritten((segment, offset) => heard.push(`${segment}:${offset}`));
  assert.is(heard.length, 1, 'the first segment is there before the first call');
  writeCall(journal, 'a', bytesOf(10, 1), bytesOf(20, 2));
  assert.is(heard.length, 1, 'nothing is written while the caller runs');
  await until(() => heard.length > 1);
  const [file] = segmentsIn(folder, journal.runId);
  assert.is(heard.at(-1), `1:${file?.bytes}`);
  assert.is(journal.bytes(), file?.bytes);
  assert.is(statSync(folder).mode & 0o777, 0o700);
  assert.is(statSync(join(folder, journal.runId)).mode & 0o777, 0o700);
  assert.is(statSync(file?.path ?? '').mode & 0o777, 0o600);
  const late: string[] = [];
  const stop = journal.onWritten((segment, offset) => late.push(`${segment}:${offset}`));
  assert.equal(late, heard.slice(-1), 'a late listener hears at once how far it is');
  stop();
  writeCall(journal, 'b', bytesOf(10, 1), bytesOf(20, 2));
  await journal.close();
  assert.is(late.length, 1);
  assert.is(diskBytes(folder), journal.bytes());
  assert.equal((await readDead(folder)).map(nameOf), ['a', 'b', 'finished']);
});

test('the caller may reuse its buffer at once', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: 10 * MIB, log: silent });
  const copy = journal.open(opened('a'));
  const buffer = Buffer.alloc(700_000); // longer than a block
  for (const fill of [1, 2, 3]) assert.is(copy?.requestBytes(buffer.fill(fill)), true);
  buffer.fill(9);
  copy?.close(closed(2_100_000, 0));
  await journal.close();
  const [entry] = await readDead(folder);
  if (entry?.kind !== 'call') throw new Error('no call');
  assert.is(entry.call.request.length, 2_100_000);
  assert.ok(entry.call.request.every((byte, i) => byte === 1 + Math.floor(i / 700_000)));
});

test('a run that kept nothing leaves nothing; a closed journal takes nothing', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: MIB, log: silent });
  await journal.close();
  await journal.close();
  assert.equal(readdirSync(folder), []);
  assert.is(journal.open(opened('a')), null);
  journal.recordOutcome(counted);
  await journal.flush();
  assert.equal(readdirSync(folder), []);
});

test('a folder that cannot be made is told to the operator', async () => {
  const file = join(newFolder(), 'a-file');
  writeFileSync(file, '');
  const error = await openJournal({ folder: join(file, 'journal'), maxBytes: MIB, log: silent }).catch(
    (error) => error,
  );
  assert.instance(error, OperatorError);
  assert.match(error.message, /^Cannot keep a journal in ".*": ENOTDIR$/);
});

test('calls of which only metadata is kept have no bodies', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: MIB, log: silent });
  const copy = journal.open(opened('a', 'metadata'));
  assert.is(copy?.requestBytes(bytesOf(5000, 1)), true);
  copy?.responseHead(answered());
  assert.is(copy?.responseBytes(bytesOf(5000, 1)), true);
  copy?.close(closed(5000, 5000));
  await journal.close();
  const [entry] = await readDead(folder);
  if (entry?.kind !== 'call') throw new Error('no call');
  assert.is(entry.call.request.length + entry.call.response.length, 0);
  assert.equal(entry.call.closed, closed(5000, 5000));
  assert.ok(journal.bytes() < 1500);
});

test('past the cap calls are refused, an open one is cut and closed, and books are kept', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: 100_000, log: silent });
  const early = journal.open(opened('early'));
  assert.is(early?.requestBytes(bytesOf(60_000, 1)), true);
  await journal.flush();
  assert.is(early?.requestBytes(bytesOf(60_000, 2)), false);
  assert.is(early?.requestBytes(bytesOf(10, 2)), false, 'a copy with a hole would be worse than a short one');
  early?.responseHead(answered());
  assert.is(early?.responseBytes(bytesOf(10, 3)), true);
  while (writeCallIfRoom('filler')) await journal.flush();
  assert.is(journal.open(opened('refused')), null);
  journal.recordOutcome({ ...counted, outcome: 'journal_full' });
  early?.close(closed(120_010, 10));
  await journal.flush();
  assert.ok(journal.bytes() < 101_500);
  assert.is(diskBytes(folder), journal.bytes());

  const read = runFolder(folder, v7()); // a run that a reader deletes while the next one is written
  mkdirSync(read);
  writeFileSync(join(read, '00000001.seg'), Buffer.alloc(50_000));
  const next = await openJournal({ folder, maxBytes: diskBytes(folder), log: silent });
  assert.is(next.bytes(), diskBytes(folder), 'what other runs left counts');
  assert.is(next.open(opened('still refused')), null);
  rmSync(read, { recursive: true });
  next.recount();
  assert.is(next.bytes(), diskBytes(folder));
  assert.is.not(next.open(opened('room again')), null);
  await next.close();
  await journal.close();

  const entries = (await readDead(folder)).filter((entry) => entry.kind !== 'call' || nameOf(entry) !== 'filler');
  assert.equal(entries.map(nameOf), ['counted journal_full', 'early', 'finished', 'room again!', 'finished']);
  const call = entries.flatMap((entry) => (entry.kind === 'call' ? [entry.call] : []))[0];
  assert.equal(call?.closed, { ...closed(120_010, 10), cut: 'request' });
  assert.equal(call?.request, bytesOf(60_000, 1));
  assert.equal(call?.response, bytesOf(10, 3));

  function writeCallIfRoom(name: string): boolean {
    const copy = journal.open(opened(name));
    copy?.close(closed(0, 0));
    return copy !== null;
  }
});

test('a journal at its cap takes calls again once what it holds is stored, however small the cap is', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: MIB, log: silent });
  const reader = openJournalReader({ folder, liveRunId: journal.runId, positions: [], log: silent });
  journal.onWritten(reader.written);
  for (let round = 0; round < 3; round++) {
    for (let n = 0; ; n++) {
      const copy = journal.open(opened(`call ${round} ${n}`));
      if (!copy) break;
      copy.responseBytes(bytesOf(20_000, n));
      copy.close(closed(0, 20_000));
      await journal.flush();
    }
    journal.recordOutcome(counted); // as for each that is refused
    await journal.flush();
    for (const { position } of await reader.read({ entries: 1000, bytes: 1e9 })) reader.committed(position);
    await reader.remove(reader.removable());
    journal.recount();
    assert.ok(journal.bytes() < MIB / 4, `${journal.bytes()} bytes stay`);
  }
  reader.close();
  await journal.close();
});

test('a full journal finds out by itself that another process has deleted segments: its message may be lost', async () => {
  const folder = newFolder();
  const read = runFolder(folder, v7()); // a run that the reader deletes
  mkdirSync(read);
  writeFileSync(join(read, '00000001.seg'), Buffer.alloc(MIB));
  const journal = await openJournal({ folder, maxBytes: MIB, log: silent });
  assert.is(journal.open(opened('refused')), null);
  rmSync(read, { recursive: true });
  await eventually(() => journal.open(opened('room again')) !== null, DEADLINE_MS);
  assert.ok(journal.bytes() < 1_000);
  await journal.close();
});

test('a disk slower than the traffic costs bodies, never memory', async () => {
  const folder = newFolder();
  let gate = Promise.resolve();
  const write: SegmentWrite = async (...call) => gate.then(() => writeSegment(...call));
  const journal = await openJournal({ folder, maxBytes: 100 * MIB, pendingBytes: MIB, log: silent, write });
  let release = () => {};
  gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const copy = journal.open(opened('a'));
  let kept = 0;
  while (copy?.responseBytes(bytesOf(10_000, kept))) kept++;
  assert.ok(kept > 90 && kept < 105, `${kept} chunks of 10 kB in 1 MiB`);
  copy?.close(closed(0, 1e9));
  release();
  await journal.close();
  const [entry] = await readDead(folder);
  if (entry?.kind !== 'call') throw new Error('no call');
  assert.is(entry.call.closed?.cut, 'response');
  assert.is(entry.call.response.length, kept * 10_000);
});

/** Writes as told; `torn`: half of it, and then the error. */
const faulty =
  (state: { mode: 'well' | 'refuse' | 'torn' | 'torn for good' }): SegmentWrite =>
  async (handle, buffers, position) => {
    if (state.mode === 'well') return writeSegment(handle, buffers.slice(0, 1), position); // short writes are right too
    const all = Buffer.concat(buffers);
    if (state.mode !== 'refuse') await writeSegment(handle, [all.subarray(0, Math.ceil(all.length * 0.7))], position);
    if (state.mode === 'torn for good') await handle.close(); // now it cannot be truncated either
    throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  };

for (const mode of ['refuse', 'torn', 'torn for good'] as const) {
  test(`a disk that fails (${mode}) and recovers: nothing is lost and nothing comes twice`, async () => {
    const folder = newFolder();
    const state: { mode: 'well' | typeof mode } = { mode };
    const journal = await openJournal({
      folder,
      maxBytes: 10 * MIB,
      segmentBytes: 3000,
      log: silent,
      write: faulty(state),
    });
    const live = openJournalReader({ folder, liveRunId: journal.runId, positions: [], log: silent });
    journal.onWritten(live.written);
    const seen: string[] = [];
    const bodies = new Map<string, Uint8Array>();
    const readLive = async () => {
      for (const entry of await live.read({ entries: 100, bytes: MIB })) {
        seen.push(nameOf(entry));
        if (entry.kind === 'call') bodies.set(entry.call.opened.svc_proxy_request_id, entry.call.response);
      }
    };
    const long = { copy: journal.open(opened('long')), bytes: 0 };
    const expected: string[] = [];
    for (let round = 0; round < 12; round++) {
      state.mode = round % 3 < 2 ? mode : 'well';
      if (long.copy?.responseBytes(bytesOf(400, round))) long.bytes += 400;
      const copy = journal.open(opened(`call ${round}`));
      copy?.responseBytes(bytesOf(100, round));
      copy?.close(closed(0, 100));
      if (copy) expected.push(`call ${round}`);
      journal.recordOutcome(counted);
      expected.push('counted not_a_turn');
      await journal.flush();
      await readLive();
    }
    state.mode = 'well';
    await journal.flush();
    assert.is.not(journal.open(opened('x')), null, 'recovered');
    long.copy?.close(closed(0, long.bytes));
    await journal.close();
    await readLive();
    live.close();
    assert.equal(seen, [...expected, 'long']);
    assert.ok(expected.length > 12, 'some calls were taken between the failures');
    assert.is(long.bytes, 4800, 'an open call goes on through a failure');
    const whole = Buffer.concat(Array.from({ length: 12 }, (_, round) => bytesOf(400, round)));
    assert.ok(whole.equals(bodies.get('long') ?? new Uint8Array()));
    assert.is(diskBytes(folder), journal.bytes(), 'torn ends are counted too');

    const dead = await readDead(folder);
    assert.equal(dead.map(nameOf), [...seen, 'x!', 'finished']);
    for (const entry of dead) {
      if (entry.kind !== 'call' || !entry.call.closed) continue;
      assert.ok(
        Buffer.from(entry.call.response).equals(bodies.get(entry.call.opened.svc_proxy_request_id) ?? new Uint8Array()),
      );
    }
  });
}

test('a disk that never recovers: no exception, no endless waiting', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: MIB, log: silent, write: faulty({ mode: 'refuse' }) });
  writeCall(journal, 'a', bytesOf(10, 1), bytesOf(10, 1));
  await journal.flush();
  assert.is(journal.open(opened('b')), null);
  for (let i = 0; i < 1000; i++) journal.recordOutcome(counted);
  await journal.close();
});

test('a run folder tidied away by somebody is made again', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: MIB, segmentBytes: 50, log: silent });
  rmSync(join(folder, journal.runId), { recursive: true });
  writeCall(journal, 'a', bytesOf(10, 1), bytesOf(10, 1));
  await journal.close();
  assert.ok(existsSync(join(folder, journal.runId)));
  assert.equal((await readDead(folder)).map(nameOf), ['a', 'finished']);
});

test('a process killed while writing has lost nothing that it reported as written', async () => {
  const folder = newFolder();
  const at = (path: string) => JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);
  const code = `
    const { openJournal } = await import(${at('core/capture/journal.ts')});
    const calls = await import(${at('test/support/journal-calls.ts')});
    const journal = await openJournal({ folder: ${JSON.stringify(folder)}, maxBytes: 1e9, segmentBytes: 200_000, log: calls.silent });
    let next = 0, told = 0;
    const write = () => {
      for (let i = 0; i < 20 && next - told < 500; i++, next++)
        calls.writeCall(journal, String(next), calls.bytesOf(next % 3000, next), calls.bytesOf(next % 700, next));
      journal.open(calls.opened('open'))?.requestBytes(calls.bytesOf(10, 1));
    };
    setInterval(write, 1);
    for (write(); ; process.stdout.write(told - 1 + '\\n')) {
      const before = next;
      await new Promise((resolve) => setTimeout(resolve, 2));
      await journal.flush();
      told = before;
    }`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const reports: number[] = []; // numbers of calls that were written when they were reported
  for await (const line of createInterface(child.stdout)) {
    reports.push(Number(line));
    if (reports.length === 60) child.kill('SIGKILL');
  }
  await ended;
  const certain = reports.at(-1) ?? 0;
  assert.ok(certain > 100);
  const entries = await readDead(folder);
  const whole = new Map(
    entries.flatMap((entry) => (entry.kind === 'call' && entry.call.closed ? [[nameOf(entry), entry.call]] : [])),
  );
  for (let i = 0; i <= certain; i++) {
    const call = whole.get(String(i));
    assert.ok(call, `call ${i} of ${certain}`);
    assert.equal(call.request, bytesOf(i % 3000, i));
    assert.equal(call.response, bytesOf(i % 700, i));
  }
  assert.is(entries.at(-1)?.kind, 'finished');
  assert.ok(entries.some((entry) => nameOf(entry) === 'open!'));
});

test.run();
