/** What became of a source that is on the list? What the read API, the evidence, the CLI and MCP show of it. */
import type { Progress } from './contract.ts';
import type { CassetteDocument } from './document.ts';
import type { ListEntry } from './list.ts';
import type { AdmissionStep, Confinement, Isolation, Liveness } from './running.ts';

/**
 * `pending`: not tried yet, or being tried; `admitted`; `stale`: was admitted, a refresh failed, the last good one stays;
 * `rejected`: it was looked at and refused; `unresolved`: it could not be had.
 */
export type AdmissionState = 'pending' | 'admitted' | 'stale' | 'rejected' | 'unresolved';

/** Why a source is not (or no longer freshly) in. Times are RFC 3339, UTC. */
export type Trouble = { step: AdmissionStep; reason: string; problems: readonly string[]; observed_at: string };

export type Installed = {
  entry: ListEntry;
  isolation: Isolation;
  state: AdmissionState;
  /** Since when it is in that state. */
  since: string;
  admitted_at: string | null;
  trouble: Trouble | null;
  confinement: Confinement | null;
  liveness: Liveness | null;
  /** `sha256:<hex>` of what was installed; null for a remote source and before it was looked at. */
  source_digest: string | null;
  /** The last good one; null until there is one. */
  document: CassetteDocument | null;
  /** The last run of its background work. */
  last_run: { scheduled_at: string; ended_at: string | null; error: string | null } | null;
  /** How far that is, as it told it last. */
  progress: Progress | null;
};
