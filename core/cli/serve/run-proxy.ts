/** Runs the capture proxy: its listener, the journal, and what it reports to the service about both. */
import { join } from 'node:path';
import { openJournal } from '../../capture/journal.ts';
import { joinLock } from '../../db/client/folder-lock.ts';
import { watchListeners } from '../../engine/engine-throttle.ts';
import { openLog } from '../../log.ts';
import { openMetrics } from '../../metrics.ts';
import { formerKeyOf } from './former-key.ts';
import { hostsOf } from './listening.ts';
import type { Start } from './messages.ts';
import type { ParentLink, Role } from './parent-link.ts';
import { openProxy } from './proxy-listener.ts';
import { reportWritten } from './report-written.ts';

/** How far the journal may fill while calls have precedence: half, less what may come before the next check; for a small one nothing. */
const waitingBytes = (maxBytes: number) => maxBytes / 2 - 67_108_864;

/** Numbers of requests begin at 1. */
const UNREQUESTED = 0;

/** @throws {OperatorError} the address is taken, or the journal cannot be made */
export async function runProxy({ loaded, io, role, addresses }: Start, link: ParentLink): Promise<Role> {
  const { config, folder } = loaded;
  const unlock = await joinLock(folder, process.ppid);
  const log = openLog(config.log.level);
  const metrics = openMetrics('forwarding');
  const [formerKey, journal] = await Promise.all([
    formerKeyOf(folder),
    openJournal({ folder: join(folder, 'journal'), maxBytes: config.journal.max_bytes, log }),
  ]);
  await link.send({ kind: 'run', runId: journal.runId, maxBytes: journal.maxBytes });
  const written = reportWritten(link.send);
  journal.onWritten(written.note);
  const report = async (id: number) =>
    link.send({ kind: 'counters', id, snapshot: await metrics.registry.getMetricsAsJSON() });
  link.receive((message) => {
    if (message.kind === 'deleted') journal.recount();
    else if (message.kind === 'count') void report(message.id);
  });
  const hasRoom = () => journal.bytes() < waitingBytes(journal.maxBytes);
  const unwatch = watchListeners({ calls: journal.calls, hasRoom }, (listeners) => {
    void link.send({ kind: 'busy', listeners });
  });
  const hosts = hostsOf(config, role === 'all' ? ['proxy', 'api', 'ingest'] : ['proxy']);
  const proxy = await openProxy({
    ...{ config, journal, log, metrics, env: io.env, formerKey, allowedHosts: hosts },
    ...(addresses.proxy?.at && { at: addresses.proxy.at }),
  });
  await link.send({ kind: 'ready', urls: { proxy: proxy.addresses } });
  return {
    stop: proxy.close,
    finish: async () => {
      unwatch();
      await journal.close();
      await written.flush();
      await report(UNREQUESTED);
      await unlock();
    },
  };
}
