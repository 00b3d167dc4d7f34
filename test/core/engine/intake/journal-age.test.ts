import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Journal, openJournal } from '../../../../core/capture/journal.ts';
import type { JournalEntry } from '../../../../core/capture/journal-calls.ts';
import { type JournalReader, openJournalReader } from '../../../../core/capture/journal-reader.ts';
import { openJournalAge, reportingReader } from '../../../../core/engine/intake/journal-age.ts';
import {
  answered,
  bytesOf,
  closed,
  copyOf,
  newFolder,
  opened,
  silent,
  writeCall,
} from '../../../support/journal-calls.ts';

const test = suite('the age of what waits in the journal');

const ENDED = Date.parse('2026-11-21T09:30:00.000Z'); // of the calls that `writeCall` writes
const at = (seconds: number) => ENDED + seconds * 1_000;
const ALL = { entries: 1000, bytes: 1e9 };
const journalIn = (folder: string) => openJournal({ folder, maxBytes: 1e8, log: silent });

/** A journal's age beside its reader, at a clock that the test sets. */
function watched(folder: string, journal: Journal) {
  const clock = { now: at(1) };
  const age = openJournalAge();
  const reader = reportingReader(
    openJournalReader({ folder, liveRunId: journal.runId, positions: [], log: silent }),
    journal.runId,
    ({ segment, byteOffset }, waiting) => age.stored(segment, byteOffset, waiting),
  );
  journal.onWritten((segment, byteOffset, ended) => {
    age.written(segment, byteOffset, ended, clock.now);
    reader.written(segment, byteOffset);
  });
  return { age, reader, clock };
}

function commit(reader: JournalReader, entry: JournalEntry | undefined): void {
  if (!entry) throw new Error('Cannot commit: nothing was handed out');
  reader.committed(entry.position);
}

const small = bytesOf(10, 1);

test('a call counts from its end until it is stored; one that is open does not count, however long it lasts', async () => {
  const folder = newFolder();
  const journal = await journalIn(folder);
  const { age, reader, clock } = watched(folder, journal);
  assert.is(age.oldest(), null);
  const stream = journal.open(opened('stream'));
  stream?.requestBytes(small);
  stream?.responseHead(answered());
  await journal.flush();
  clock.now = at(2);
  stream?.responseBytes(small);
  await journal.flush();
  assert.is(age.oldest(), null, 'open');
  clock.now = at(3);
  writeCall(journal, 'short', small, small);
  await journal.flush();
  clock.now = at(4);
  journal.recordOutcome({ at: '2026-11-21T09:30:00.000001Z', provider: 'openai', outcome: 'not_a_turn' });
  await journal.flush();
  assert.is(age.oldest(), at(3), 'written, and not read yet');

  const [first, second] = await reader.read(ALL);
  assert.is(age.oldest(), ENDED, 'in hand: its own end is known');
  commit(reader, first);
  assert.is(age.oldest(), ENDED, 'a request that is only counted waits as well');
  commit(reader, second);
  assert.is(age.oldest(), null);

  clock.now = at(5);
  stream?.close(closed(10, 10));
  await journal.flush();
  assert.is(age.oldest(), at(5), 'ended now');
  const [last] = await reader.read(ALL);
  commit(reader, last);
  assert.is(age.oldest(), null);
  reader.close();
  await journal.close();
});

test('what is stored in part leaves the age of the rest', async () => {
  const folder = newFolder();
  const journal = await journalIn(folder);
  const { age, reader, clock } = watched(folder, journal);
  for (let n = 0; n < 3; n++) {
    clock.now = at(n + 1);
    writeCall(journal, String(n), small, small);
    await journal.flush();
  }
  const [first] = await reader.read({ entries: 1, bytes: 1e9 });
  commit(reader, first);
  assert.is(age.oldest(), at(2));
  reader.close();
  await journal.close();
});

test('an end that cannot be made out of the files waits for nobody: an empty read says that all is stored', async () => {
  const folder = newFolder();
  const journal = await journalIn(folder);
  const { age, reader } = watched(folder, journal);
  const place = { segment: 9, byteOffset: 100 };
  age.written(place.segment, place.byteOffset, true, 1_000);
  reader.written(place.segment, place.byteOffset);
  assert.is(age.oldest(), 1_000);
  assert.equal(await reader.read(ALL), []);
  assert.is(age.oldest(), null);
  reader.close();
  await journal.close();
});

test('calls of a run that was killed count from when they are in hand, with the time of their own end', async () => {
  const before = newFolder();
  const killed = await journalIn(before);
  writeCall(killed, 'before the kill', small, small);
  const cut = killed.open({ ...opened('cut'), requested_at: '2026-11-21T08:00:00.000001Z' });
  cut?.requestBytes(small);
  await killed.flush();
  const folder = copyOf(before);
  await killed.close();

  const journal = await journalIn(folder);
  const { age, reader } = watched(folder, journal);
  assert.is(age.oldest(), null, 'nobody knows yet what of it the database has');
  const entries = await reader.read(ALL);
  assert.is(entries.length, 3, 'two calls and the end of the run');
  assert.is(age.oldest(), Date.parse('2026-11-21T08:00:00Z'), 'of the cut one what is known last');
  for (const { position } of entries) reader.committed(position);
  assert.is(age.oldest(), null);
  reader.close();
  await journal.close();
});

test('a long outage: no age is told smaller than it is, nor much greater, and in the end nothing waits', () => {
  const age = openJournalAge();
  const most = 100_000;
  for (let n = 1; n <= most; n++) age.written(1, n, true, n);
  assert.is(age.oldest(), 1);
  for (let stored = 1_000; stored < most; stored += 1_000) {
    age.stored(1, stored, null);
    const oldest = age.oldest() ?? 0;
    assert.ok(oldest <= stored + 1 && oldest > stored - most / 200, `${oldest} at ${stored}`);
  }
  age.stored(1, most, null);
  assert.is(age.oldest(), null);
  age.written(1, most + 1, true, most + 1);
  age.stored(2, 0, null);
  assert.is(age.oldest(), null, 'a later segment is behind all of an earlier one');
});

test.run();
