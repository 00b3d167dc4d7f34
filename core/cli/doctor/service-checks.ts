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
  unserved: ['is that of a service which is down, and is tried again within a minute', 'svc status'],
  untrusted: ['has no certificate that Node trusts', 'svc status'],
  silent: ['takes connections and does not answer', 'svc status'],
  unknown: ['is not known', 'svc doctor --client-api-target http://localhost:8081'],
} as const;

async function listens(check: string, address: string | null, flag: string): Promise<Finding> {
  if (address === null) return fail(check, 'its address is not known', `svc doctor ${flag} http://localhost:8080`);
  return (await takesConnections(address, REPLY_TIMEOUT_MS))
    ? ok(check, `takes connections at ${address}`)
    : fail(check, `nobody listens at ${address}`, 'svc status');
}

function publishing({ reason, published, failed, dropped }: NonNullable<Status['publisher']>): Finding {
  const never = failed + dropped;
  const lost = never > 0 ? `; ${several(never, 'node')} lost` : '';
  if (reason !== null)
    return fail('publishing', `no broker takes nodes: ${reason}${lost}`, 'svc config get publisher.stream.brokers');
  const sent = `${several(published, 'node')} sent to the broker since the start`;
  return lost === '' ? ok('publishing', sent) : warn('publishing', `${sent}${lost}`, 'svc status');
}

const FEW_DAYS = 14;
const LATE_SECONDS = 60;

/**
 * Twice what an embedded database's log (64 MB) and a segment of the journal (64 MiB) take before any of it is deleted. With less the next
 * of them may be refused, and calls then pass without being recorded.
 */
const LOW_BYTES = 268_435_456;

/** `free_bytes` is absent where a server has the disk, and `disk` in an older service. */
function diskSpace({ disk, database }: Status): Finding {
  const { free_bytes: free, days_left: left } = disk ?? {};
  const check = 'disk';
  if (free !== undefined && free < LOW_BYTES)
    return fail(
      check,
      `${sized(free)} are free, too little for its logs: calls are not recorded when it is full`,
      'svc status   # shows the sizes; then make room on that disk',
    );
  return left !== undefined && left < FEW_DAYS
    ? warn(
        check,
        `at the growth of now it is full in ${several(Math.floor(left), 'day')}`,
        'svc status   # shows the sizes',
      )
    : ok(check, `${sized(database.bytes)} of database${free === undefined ? '' : `, ${sized(free)} free`}`);
}

export function keepingUp(status: Status): Finding[] {
  const { derive, parked_turns, journal, publisher, coverage } = status;
  const lost = coverage.outcomes.journal_full;
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
    ...(lost > 0
      ? [
          warn(
            'journal',
            `${several(lost, 'call')} passed so far without being recorded, since the journal or its disk was full`,
            'svc coverage   # shows the days, as journal_full',
          ),
        ]
      : []),
    ...(publisher === undefined ? [] : [publishing(publisher)]),
    diskSpace(status),
  ];
}
