/** Runs the service behind the proxy: what the proxy writes into the journal is stored, derived and served. */
import type { StartThread } from '../../db/client/embedded-host.ts';
import { joinLock } from '../../db/client/folder-lock.ts';
import { openLog } from '../../log.ts';
import type { ProcessState } from '../../model/status.ts';
import { openLiveJournal } from './live-journal.ts';
import type { Start } from './messages.ts';
import { openService } from './open-service.ts';
import type { ParentLink, Role } from './parent-link.ts';
import { sharedCounters } from './shared-counters.ts';

/** For the journal to reach the database at a stop; the rest is stored at the next start. A proxy alone may have no next start on this disk. */
const DRAIN_MS = { all: 1_000, proxy: 10_000 };

/** @param startThread of the embedded database @throws {OperatorError} as `openService` does */
export async function runService(
  { loaded, io, role, version, addresses, startedAt }: Start,
  link: ParentLink,
  startThread?: StartThread,
): Promise<Role> {
  const unlock = await joinLock(loaded.folder, process.ppid);
  const log = openLog(loaded.config.log.level);
  const live = openLiveJournal(link);
  let processes: ProcessState[] = [];
  link.receive((message) => {
    if (message.kind === 'processes') ({ processes } = message);
  });
  const { listeners, engine, close } = await openService({
    ...{ loaded, role, version, log, addresses, startedAt },
    io: { ...io, out: (text) => void link.send({ kind: 'print', text }), err: (text) => process.stderr.write(text) },
    pid: process.ppid,
    ...(startThread && { startThread }),
    counters: sharedCounters(link),
    processes: () => processes,
    journal: { live, deleted: () => void link.send({ kind: 'deleted' }) },
  });
  await link.send({
    kind: 'ready',
    urls: { api: listeners.api, ingest: listeners.ingest, internal: listeners.internal },
  });
  return {
    stop: listeners.close,
    finish: async (whole) => {
      if (whole && !(await engine.drain(DRAIN_MS[role])))
        log.warn('the journal is not empty: the rest is stored at the next start');
      await close();
      await unlock();
    },
  };
}
