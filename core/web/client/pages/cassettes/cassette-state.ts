/** The state of a cassette in words, with what to do where it is not in. */
import type { CassetteInfo } from '../../../../model/cassette.ts';

type StateWords = { mark: string; word: string; advice: string | null };

export const STATE_WORDS: Readonly<Record<CassetteInfo['state'], StateWords>> = {
  admitted: { mark: 'admitted', word: 'admitted', advice: null },
  stale: {
    mark: 'warn',
    word: 'stale',
    advice: 'It was admitted and is not reached now: what it last published stays. It is tried again by itself.',
  },
  pending: { mark: 'unknown', word: 'pending', advice: 'It is being tried.' },
  rejected: {
    mark: 'error',
    word: 'rejected',
    advice: 'It was examined and refused. Mend what the reason names; it is tried again by itself, or after a start.',
  },
  unresolved: {
    mark: 'warn',
    word: 'not found',
    advice:
      'Its source could not be fetched. Check its address or folder in the list of cassettes; it is tried again by itself.',
  },
};

const BINDING_WORDS: Readonly<Record<string, string>> = {
  db: 'tables of its own',
  core: 'the read API',
  network: 'the network',
  forward_auth: 'the credentials of whoever calls it',
};

/** What it may use, as `tables of its own, the read API`. */
export const grantsText = (bindings: readonly string[]): string =>
  bindings.length === 0 ? 'nothing' : bindings.map((name) => BINDING_WORDS[name] ?? name).join(', ');

export const CONFINEMENT_WORDS = {
  full: 'fully confined',
  partial: 'partly confined',
  none: 'not confined',
} as const;

/** 'every 30 s', 'every 5 min'. */
export function scheduleText({ every_seconds, on_change }: NonNullable<CassetteInfo['schedule']>): string {
  const every = every_seconds % 60 === 0 && every_seconds > 0 ? `${every_seconds / 60} min` : `${every_seconds} s`;
  return `every ${every}${on_change ? ', and when something changes' : ''}`;
}
