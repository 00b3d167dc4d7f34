/** Opens the internal listener of a role, where it is configured: liveness, readiness, metrics, and the evidence where cassettes run. */
import { internalApi } from '../../api/internal.ts';
import { evidenceOf } from '../../cassette/evidence.ts';
import { serveApp } from '../../http/listen.ts';
import { instanceOf } from './instance.ts';
import { internalOf } from './internal-listen.ts';
import { exposition, type Keep, type Process } from './listening.ts';
import { readinessOf } from './readiness.ts';

/** @param database the check of a role that needs the database (readiness.ts) */
export async function openInternal(
  parts: Process & { databaseReady?: () => Promise<string | null> },
  register: Keep,
): Promise<string[]> {
  const { config, cassettes, env, log, addresses, processes, journal, engine, databaseReady } = parts;
  const internal = internalOf(env);
  if (!internal) return [];
  const instance = instanceOf(env, Date.now());
  const evidence =
    cassettes &&
    (() =>
      evidenceOf({
        instance,
        processes: processes(),
        list: cassettes.host.list(),
        installed: cassettes.host.installed(),
        now: Date.now(),
      }));
  const ready = () =>
    readinessOf({
      ...(databaseReady && { database: databaseReady }),
      processes: processes(),
      ...(evidence && { cassettesReady: evidence().ready }),
      journal: journal && {
        bytes: journal.bytes(),
        maxBytes: journal.maxBytes(),
        oldestSeconds: engine.oldestSeconds(),
        fault: engine.journalFault(),
      },
    });
  const { fetch } = internalApi({
    ...(evidence && { evidence }),
    ready,
    metrics: () => exposition(parts),
    token: internal.token,
    allowedHosts: [...config.allowed_hosts, ...internal.at.hosts],
    log,
  });
  const at = addresses.internal?.at ?? internal.at;
  return register(await serveApp({ fetch, ...at, what: 'internal listener' })).addresses;
}
