/** Whether the service runs, takes connections on each listener, and keeps up with what comes in. */
import type { LoadedConfig } from '../../config/load.ts';
import type { Status } from '../../model/status.ts';
import { getJson, takesConnections } from '../get-json.ts';
import { isStatus } from '../is-status.ts';
import { addresses, fetchReadApi, REPLY_TIMEOUT_MS } from '../read-api.ts';
import { lasting, several, sized } from '../units.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

export type ServiceAddress = { api: string; proxy: string | null; ingest: string | null };

/** `reached`: where it answers; null: the rest cannot be checked. */
export type ServiceChecks = { findings: Finding[]; reached: ServiceAddress | null };

export async function serviceChecks(loaded: LoadedConfig): Promise<ServiceChecks> {
  const at = addresses(loaded);
  const api = await fetchReadApi<Status>(loaded, { path: '/v1/admin/status', is: isStatus, what: 'status' });
  if (api.state !== 'up' || api.address === null) {
    const [why, remedy] = NOT_UP[api.state === 'up' ? 'unknown' : api.state];
    return { findings: [fail('read API', `${api.address ?? 'its address'} ${why}`, remedy)], reached: null };
  }
  const findings = [ok('read API', `answers at ${api.address}`)];
  for (const remark of api.remarks) findings.push(fail('read API', remark, null));
  findings.push(await listens('capture proxy', at.proxy, '--client-proxy-target'));
  const ingest =
    at.ingest === null ? null : await getJson({ address: at.ingest, path: '/ping', timeoutMs: REPLY_TIMEOUT_MS });
  findings.push(
    typeof ingest === 'object' && ingest?.status === 200
      ? ok('ingest API', `answers at ${at.ingest}`)
      : fail('ingest API', `nothing of svc answers at ${at.ingest ?? 'an address that is known'}`, 'svc status'),
  );
  if (api.answer) findings.push(...keepingUp(api.answer));
  return { findings, reached: api.answer ? { api: api.address, proxy: at.proxy, ingest: at.ingest } : null };
}

const NOT_UP = {
  down: ['has nobody who listens', 'svc serve'],
  foreign: [
    'is answered by another program',
    'svc serve --api-listen :0   # then --client-api-target says where it is',
  ],
  silent: ['takes connections and does not answer', 'svc status'],
  unknown: ['is not known', 'svc doctor --client-api-target http://localhost:8081'],
} as const;

async function listens(check: string, address: string | null, flag: string): Promise<Finding> {
  if (address === null) return fail(check, 'its address is not known', `svc doctor ${flag} http://localhost:8080`);
  return (await takesConnections(address, REPLY_TIMEOUT_MS))
    ? ok(check, `takes connections at ${address}`)
    : fail(check, `nobody listens at ${address}`, 'svc status');
}

function publishing({ reason, published, dropped }: NonNullable<Status['publisher']>): Finding {
  if (reason === null) return ok('publishing', `${several(published, 'node')} sent to the broker since the start`);
  const lost = dropped > 0 ? `; ${several(dropped, 'node')} dropped` : '';
  return fail('publishing', `no broker takes nodes: ${reason}${lost}`, 'svc config get publisher.stream.brokers');
}

const FEW_DAYS = 14;
const LATE_SECONDS = 60;

function keepingUp({ disk, derive, parked_turns, journal, database, publisher }: Status): Finding[] {
  const left = disk?.days_left;
  return [
    derive.lag_seconds > LATE_SECONDS
      ? warn(
          'derivation',
          `${several(derive.queued, 'session')} wait, the longest for ${lasting(derive.lag_seconds)}`,
          null,
        )
      : ok('derivation', 'nothing waits for longer than a minute'),
    ...(derive.parked > 0
      ? [fail('derivation', `${several(derive.parked, 'session')} cannot be worked out`, 'svc status   # shows why')]
      : []),
    ...(parked_turns.count > 0
      ? [fail('intake', `${several(parked_turns.count, 'call')} could not be stored`, 'svc status   # shows why')]
      : []),
    ...((journal?.oldest_seconds ?? 0) > LATE_SECONDS
      ? [fail('journal', `a call has waited for ${lasting(journal?.oldest_seconds ?? 0)} to be stored`, 'svc status')]
      : []),
    ...(publisher === undefined ? [] : [publishing(publisher)]),
    left !== undefined && left < FEW_DAYS
      ? warn(
          'disk',
          `at the growth of now it is full in ${several(Math.floor(left), 'day')}`,
          'svc status   # shows the sizes',
        )
      : ok('disk', `${sized(database.bytes)} of database`),
  ];
}
