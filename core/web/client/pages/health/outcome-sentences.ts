/** What each outcome of a request means for the operator, and what to do about it. */
import type { Outcome } from '../../../../model/coverage.ts';

type OutcomeSentence = {
  title: string;
  /** recorded: it is a turn; passed: as it should be; lost: a turn that is not in the record. */
  category: 'recorded' | 'passed' | 'lost';
  meaning: string;
  advice: string | null;
};

export const OUTCOME_SENTENCES: Readonly<Record<Outcome, OutcomeSentence>> = {
  captured: { title: 'captured', category: 'recorded', meaning: 'Stored whole and read.', advice: null },
  partial: {
    title: 'partial',
    category: 'recorded',
    meaning: 'Stored as far as it came: a side broke off, or the copy had no room.',
    advice: 'Their sessions show the answer as cut. Where clients give up early, look at how long answers take.',
  },
  not_a_turn: {
    title: 'no turn',
    category: 'passed',
    meaning: 'Passed on and only counted: model lists, embeddings, token counts, upgrades to a WebSocket.',
    advice: null,
  },
  disabled: {
    title: 'switched off',
    category: 'passed',
    meaning: 'Came with the header x-svc-capture: off, or while capture.mode is off.',
    advice: 'Set capture.mode to full, or leave the header out, to record such calls.',
  },
  unsupported_format: {
    title: 'format not read',
    category: 'lost',
    meaning: 'Runs a model in a format that is not read; it works as usual, and nothing is stored.',
    advice: 'Use a format that is read: Anthropic Messages, Chat Completions, Responses, generateContent or Ollama.',
  },
  undecodable: {
    title: 'not decoded',
    category: 'lost',
    meaning: 'Stored, but its bytes could not be read in their format.',
    advice: 'The bytes are there. A newer version may read them: then run POST /v1/admin/derive/run.',
  },
  over_limit: {
    title: 'over the limit',
    category: 'lost',
    meaning: 'Has a body larger than capture.max_body_bytes.',
    advice: 'Raise capture.max_body_bytes, or SVC_CAPTURE_MAX_BODY_BYTES, and start the service again.',
  },
  journal_full: {
    title: 'journal full',
    category: 'lost',
    meaning: 'Passed while the journal had no room.',
    advice: 'Look at what keeps the database from taking calls in, or raise journal.max_bytes.',
  },
  poison: {
    title: 'refused by the database',
    category: 'lost',
    meaning: 'Set aside with its bytes in svc.parked_turns.',
    advice: 'The reasons are listed below under parked turns. The bytes are not lost.',
  },
  crashed: {
    title: 'crashed',
    category: 'lost',
    meaning: 'Was open when the process was killed, and not even its request was whole.',
    advice: 'Stop the service with SIGTERM or Ctrl-C: it waits for open calls.',
  },
};

/** Worst first: what is missing, then what is incomplete, then what is as it should be. */
export const OUTCOME_ORDER: readonly Outcome[] = [
  ...(['over_limit', 'journal_full', 'poison', 'crashed', 'undecodable', 'unsupported_format'] as const),
  ...(['partial', 'disabled', 'not_a_turn', 'captured'] as const),
];

export type CoverageDay = { day: string; requests: number; outcomes: Counts };

type Counts = Readonly<Record<Outcome, number>>;

/** Requests that were turns, and how many of them are recorded. */
export function recordedShare(outcomes: Counts): { recorded: number; turns: number } {
  const sum = (category: OutcomeSentence['category']) =>
    OUTCOME_ORDER.reduce((all, name) => all + (OUTCOME_SENTENCES[name].category === category ? outcomes[name] : 0), 0);
  const recorded = sum('recorded');
  return { recorded, turns: recorded + sum('lost') };
}
