/** The headers with which a harness that `svc start` runs labels its calls: its folder, and the run by which its sessions are found. */
import { randomUUID } from 'node:crypto';

export type HarnessRun = { id: string; startedAt: number };

export const newRun = (): HarnessRun => ({ id: randomUUID(), startedAt: Date.now() });

/** The member of a session's `harness_metadata` with the id of the run. */
export const RUN_MEMBER = 'svc_start';

/** Without a session's id: a harness may hold several conversations in a run, which are distinguished by what they contain. */
export const envelopeHeaders = (run: HarnessRun, cwd: string): Record<string, string> => ({
  'x-svc-cwd': encodeURIComponent(cwd),
  'x-svc-harness-metadata': Buffer.from(JSON.stringify({ [RUN_MEMBER]: run.id })).toString('base64url'),
});
