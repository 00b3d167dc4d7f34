/** The state of a source on the list, as the read API, the evidence, the CLI and MCP show it. */
import type { Progress } from './contract.ts';
import type { ListEntry } from './list/list.ts';
import type { CassetteDocument } from './openapi/document.ts';
import type { AdmissionStep, Confinement, Isolation, Liveness } from './running.ts';

/**
 * `pending`: not tried yet, or being tried; `admitted`; `stale`: was admitted, a refresh failed, the last good document stays;
 * `rejected`: it was examined and refused; `unresolved`: it could not be fetched.
 */
export type AdmissionState = 'pending' | 'admitted' | 'stale' | 'rejected' | 'unresolved';

/** Why a source is not (or no longer freshly) in. Times are RFC 3339, UTC. */
export type Trouble = { step: AdmissionStep; reason: string; problems: readonly string[]; observed_at: string };

export type Installed = {
  entry: ListEntry;
  isolation: Isolation;
  state: AdmissionState;
  /** When it entered that state. */
  since: string;
  admitted_at: string | null;
  trouble: Trouble | null;
  confinement: Confinement | null;
  liveness: Liveness | null;
  /** `sha256:<hex>` of what was installed; null for a remote source and before it was examined. */
  source_digest: string | null;
  /** The last good document; null until there is one. */
  document: CassetteDocument | null;
  /** The last run of its background work. */
  last_run: { scheduled_at: string; ended_at: string | null; error: string | null } | null;
  /** The progress of its background work, as last reported. */
  progress: Progress | null;
};
