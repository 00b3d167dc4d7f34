/** A journal that cannot be read is reported to who asks for readiness, until it can be read again. The fault is real: EIO of /proc. */
import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openJournal } from '../../../../core/capture/journal.ts';
import { segmentsIn } from '../../../../core/capture/journal-files.ts';
import { openJournalReader } from '../../../../core/capture/journal-reader.ts';
import { readinessOf } from '../../../../core/cli/serve/readiness.ts';
import { openJournalRetry } from '../../../../core/engine/intake/journal-retry.ts';
import { eventually } from '../../../support/eventually.ts';
import { bytesOf, nameOf, newFolder, silent, writeCall } from '../../../support/journal-calls.ts';

const test = suite('journal retry');

const shown = async (fault: string | null) =>
  readinessOf({ processes: [], journal: { bytes: 1, maxBytes: 9, oldestSeconds: 60, fault } });

test('its fault is a remark that does not blame the database, until it is over', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: 1e9, log: silent });
  writeCall(journal, 'call 1', bytesOf(900, 1), bytesOf(900, 2));
  await journal.close();
  const [segment] = segmentsIn(folder, journal.runId);
  const path = segment?.path ?? '';
  renameSync(path, `${path}.whole`);
  symlinkSync('/proc/self/mem', path); // every read of it fails: nothing is mapped at the beginning of a process's memory
  const reader = openJournalReader({ folder, liveRunId: null, positions: [], log: silent });
  const faults: (string | null)[] = [];
  const untilRead = openJournalRetry(silent, new AbortController().signal, (code) => faults.push(code));
  const reading = untilRead(() => reader.read({ entries: 10, bytes: 1e9 }));
  await eventually(() => faults.length === 1);
  const { ready, remarks } = await shown(faults[0] ?? null);
  assert.is(ready, true);
  assert.equal(remarks, ['the journal cannot be read (EIO): calls wait in it, and the log says more']);
  rmSync(path);
  renameSync(`${path}.whole`, path);
  assert.is(nameOf((await reading)[0] as never), 'call 1');
  assert.equal(faults, ['EIO', null]);
  assert.equal((await shown(null)).remarks, ['calls wait in the journal: the database does not take them']);
  reader.close();
});

test('where the right to read is missing, the log says what to do, once, also after another fault', async () => {
  const logged: unknown[] = [];
  const log = { ...silent, error: (fields: unknown) => logged.push(fields), info: () => {} } as never;
  const failures = ['EMFILE', 'EMFILE', 'EACCES', 'EACCES'];
  const read = async () => {
    const code = failures.shift();
    if (code) throw Object.assign(new Error(code), { code, syscall: 'open', path: '/j/1' });
    return 'read';
  };
  const changes: (string | null)[] = [];
  const untilRead = openJournalRetry(log, new AbortController().signal, (code) => changes.push(code));
  assert.is(await untilRead(read), 'read');
  assert.equal(changes, ['EMFILE', 'EACCES', null]);
  assert.is(logged.length, 2);
  assert.not.match(JSON.stringify(logged[0]), 'remedy');
  assert.match(JSON.stringify(logged[1]), /"path":"\/j\/1","remedy":"give the user that svc runs as/);
});

test.run();
