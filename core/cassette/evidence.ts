/** The evidence: which cassettes are in, since when and why, and how far each is confined. Read by operators and by controllers of a cluster. */
import type { ProcessState } from '../model/status.ts';
import type { Installed } from './installed.ts';
import { shownSource } from './shown-source.ts';

/** The identity of this process, as far as its environment gives it. */
export type Instance = {
  instance_id: string; // a UUID for each process
  started_at: string;
  pod_name?: string;
  pod_uid?: string;
  pod_ip?: string;
  node_name?: string;
  replica_set?: string;
  image_digest?: string;
};

type Parts = {
  instance: Instance;
  /** The processes of the service: how often each was started again, and why last. */
  processes: readonly ProcessState[];
  list: { digest: string; count: number; loaded_at: string; problem: string | null };
  installed: readonly Installed[];
  now: number;
};

/**
 * `cassettes` were examined: admitted, stale or rejected; `unresolved_sources` could not be fetched, or not yet. Both together are
 * `source_count`. `ready`: every required one is in. Times are RFC 3339 in UTC, in seconds.
 */
export const evidenceOf = ({ instance, processes, list, installed, now }: Parts) => ({
  schema: 'svc.evidence/v1' as const,
  instance,
  processes,
  configuration: {
    source_list_digest: list.digest,
    source_count: list.count,
    ...(list.loaded_at === '' ? {} : { loaded_at: seconds(list.loaded_at) }),
    ...(list.problem === null ? {} : { problem: list.problem }),
    contract_version: 'v1' as const,
  },
  ready: installed.every(({ entry, state }) => !entry.required || state === 'admitted'),
  cassettes: installed.filter((one) => !isUnresolved(one)).map(lookedAt),
  unresolved_sources: installed.filter(isUnresolved).map(({ entry, state, since, trouble }) => ({
    subject: entry.name,
    source: shownSource(entry.source),
    admission: state,
    since,
    required: entry.required,
    reason: trouble?.reason ?? 'it was not tried yet',
    ...(trouble ? { observed_at: trouble.observed_at } : {}),
  })),
  checked_at: seconds(new Date(now).toISOString()),
});
export type CassetteEvidence = ReturnType<typeof evidenceOf>;

const isUnresolved = ({ state }: Installed) => state === 'unresolved' || state === 'pending';

const lookedAt = (one: Installed) => {
  const { entry, state, since, document, trouble, confinement, liveness } = one;
  return {
    name: entry.name,
    source: shownSource(entry.source),
    required: entry.required,
    admission: state,
    since,
    ...(one.admitted_at === null ? {} : { admitted_at: one.admitted_at }),
    isolation: one.isolation,
    ...(confinement === null
      ? {} // nothing of it runs
      : {
          confinement: confinement.level,
          confinement_stops: confinement.stops,
          confinement_does_not_stop: confinement.does_not_stop,
        }),
    ...(liveness === null ? {} : { liveness: liveness.state, restarts: liveness.restarts }),
    ...(one.progress === null ? {} : { background: one.progress }),
    ...(one.source_digest === null ? {} : { source_digest: one.source_digest }),
    source_pinned: entry.digest !== undefined,
    ...(document === null
      ? {}
      : {
          manifest_digest: document.manifest_digest,
          openapi_digest: document.openapi_digest,
          mcp: {
            tools: document.tools.map(({ full_name }) => full_name),
            resources: document.resources.map(({ uri }) => uri),
            prompts: document.prompts.map(({ full_name, list }) => (list ? `${full_name}…` : full_name)),
          },
        }),
    openapi_status:
      document === null ? ('missing' as const) : state === 'stale' ? ('stale' as const) : ('fresh' as const),
    route_prefix: `/v1/cassettes/${entry.name}`,
    ...(trouble === null
      ? {}
      : {
          rejection: {
            subject: entry.name,
            step: trouble.step,
            reason: trouble.reason,
            ...(trouble.problems.length > 0 ? { problems: trouble.problems } : {}),
            observed_at: trouble.observed_at,
          },
        }),
  };
};

const seconds = (instant: string): string => `${instant.slice(0, 19)}Z`;
