/** Reads about the service itself: its status, what it recorded of what came, and its cassettes. */
import type { CassetteInfo, CassetteList } from '../../../model/cassette.ts';
import type { Outcome } from '../../../model/coverage.ts';
import type { Status } from '../../../model/status.ts';
import { ProblemError } from './problem-error.ts';
import { request } from './request.ts';

type Ledger = { requests: number; outcomes: Record<Outcome, number> };
export type Coverage = Ledger & {
  by_provider: Record<string, Ledger>;
  /** The newest thirty days on which anything came in, UTC, the newest first. */
  by_day: (Ledger & { day: string })[];
};

export const readStatus = (signal?: AbortSignal): Promise<Status> => request('/v1/admin/status', { signal });

export const readCoverage = (signal?: AbortSignal): Promise<Coverage> => request('/v1/coverage', { signal });

export const listCassettes = (signal?: AbortSignal): Promise<CassetteList> => request('/v1/cassettes', { signal });

/** Refused without a request that would fail: a browser reports each of those. @throws {ProblemError} cassette-unknown */
export async function requireCassette(name: string, signal?: AbortSignal): Promise<CassetteInfo> {
  const { cassettes } = await listCassettes(signal);
  const found = cassettes.find((cassette) => cassette.name === name);
  if (found) return found;
  throw new ProblemError(404, 'cassette-unknown', `The cassette "${name}" is not installed`, '');
}
