/** Reads that fail for a while: nothing is skipped, and what was not read is read later. Faults are real: EMFILE, and EIO of /proc. */
import { spawnSync } from 'node:child_process';
import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openJournal } from '../../../core/capture/journal.ts';
import { runFolder, runsIn, segmentsIn } from '../../../core/capture/journal-files.ts';
import { openJournalReader } from '../../../core/capture/journal-reader.ts';
import { eventually } from '../../support/eventually.ts';
import { exhaustFiles } from '../../support/exhaust-files.ts';
import { bytesOf, nameOf, newFolder, opened, readDead, silent, writeCall } from '../../support/journal-calls.ts';

const test = suite('journal, reads that fail');
const all = { entries: 1000, bytes: 1e9 };

const codeOf = (reading: Promise<unknown>): Promise<string> =>
  reading.then(
    () => 'read',
    ({ code }: NodeJS.ErrnoException) => code ?? 'other',
  );

/** Every read of it fails with EIO: nothing is mapped at the beginning of a process's memory. */
function breakFile(path: string): () => void {
  renameSync(path, `${path}.whole`);
  symlinkSync('/proc/self/mem', path);
  return () => {
    rmSync(path);
    renameSync(`${path}.whole`, path);
  };
}

async function deadRun(calls: number): Promise<{ folder: string; names: string[] }> {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: 1e9, segmentBytes: 4_000, log: silent });
  for (let n = 0; n < calls; n++) {
    writeCall(journal, `call ${n}`, bytesOf(900, n), bytesOf(900, n + 1));
    await journal.flush();
  }
  journal.open(opened('open'));
  await journal.close();
  return { folder, names: (await readDead(folder)).map(nameOf) };
}

const limited = spawnSync('prlimit', ['--pid', String(process.pid), '--nofile=128:']).status === 0;

test('a process that may open no more files reads on later, and skips nothing', async () => {
  if (!limited) return console.log('skip: prlimit does not set the limit of open files here');
  const { folder, names } = await deadRun(40);
  const segments = segmentsIn(folder, runsIn(folder)[0] ?? '').length;
  assert.ok(segments > 10, `${segments} segments`);
  for (let left = 0; left < 8; left++) {
    const reader = openJournalReader({ folder, liveRunId: null, positions: [], log: silent });
    const restore = exhaustFiles(left);
    const refusal = await codeOf(reader.read(all));
    restore();
    assert.is(refusal, 'EMFILE', `${left} files left`);
    assert.equal((await reader.read(all)).map(nameOf), names, `${left} files left`);
    reader.close();
  }
  assert.equal(names.slice(-3), ['call 39', 'open!', 'finished']);
});

/** Two calls in a first segment that has been read, and two in a second one that cannot be read; of a run that is being written. */
async function brokenRun(damagedAfterMs?: number) {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: 1e9, segmentBytes: 4_000, log: silent });
  const reader = openJournalReader({
    ...{ folder, liveRunId: journal.runId, positions: [], log: silent },
    ...(damagedAfterMs !== undefined && { damagedAfterMs }),
  });
  journal.onWritten(reader.written);
  const write = async (from: number, to: number) => {
    for (let n = from; n < to; n++) writeCall(journal, `call ${n}`, bytesOf(1_500, n), bytesOf(1_500, n + 1));
    await journal.flush();
  };
  await write(0, 2);
  assert.equal((await reader.read(all)).map(nameOf), ['call 0', 'call 1']);
  await write(2, 4);
  const [, second, third] = segmentsIn(folder, journal.runId);
  assert.ok(second && !third);
  return { journal, reader, write, repair: breakFile(second.path) };
}

test('a segment that the disk does not give is read once it does', async () => {
  const { journal, reader, repair } = await brokenRun();
  for (let i = 0; i < 3; i++) assert.is(await codeOf(reader.read(all)), 'EIO');
  repair();
  assert.equal((await reader.read(all)).map(nameOf), ['call 2', 'call 3']);
  assert.equal(await reader.read(all), []);
  reader.close();
  await journal.close();
});

test('a segment that the disk does not give for long is damaged, and the journal goes on behind it', async () => {
  const { journal, reader, write } = await brokenRun(300);
  assert.is(await codeOf(reader.read(all)), 'EIO');
  await sleep(350);
  assert.equal(await reader.read(all), []);
  await write(4, 6);
  await write(6, 8);
  assert.equal((await reader.read(all)).map(nameOf), ['call 4', 'call 5', 'call 6', 'call 7']);
  reader.close();
  await journal.close();
});

test('a journal that cannot be measured keeps the value it has, and is measured later', async () => {
  if (!limited) return console.log('skip: prlimit does not set the limit of open files here');
  const { folder } = await deadRun(20);
  const journal = await openJournal({ folder, maxBytes: 1e9, log: silent });
  const bytes = journal.bytes();
  rmSync(runFolder(folder, runsIn(folder)[0] ?? ''), { recursive: true });
  const restore = exhaustFiles(0);
  journal.recount();
  restore();
  assert.is(journal.bytes(), bytes);
  await eventually(() => journal.bytes() < 1_000);
  await journal.close();
});

test.run();
