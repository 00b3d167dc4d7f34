/** The identity of this process: what it knows by itself, and what the cluster that runs it has put into the environment. */
import { randomUUID } from 'node:crypto';
import type { Instance } from '../../cassette/evidence.ts';
import type { Environment } from '../../config/environment.ts';

/** @param startedAt milliseconds since 1970 */
export const instanceOf = (env: Environment, startedAt: number): Instance => ({
  instance_id: randomUUID(),
  started_at: `${new Date(startedAt).toISOString().slice(0, 19)}Z`,
  ...Object.fromEntries(
    FACTS.flatMap((fact) => {
      const value = env[`SVC_${fact.toUpperCase()}`];
      return value ? [[fact, value]] : [];
    }),
  ),
});

const FACTS = ['pod_name', 'pod_uid', 'pod_ip', 'node_name', 'replica_set', 'image_digest'] as const;
