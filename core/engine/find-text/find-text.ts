/** Looks for a text in everything that is stored: session by session, then in what belongs to none. */
import type { Database } from '../../db/database.ts';
import type { FoundElsewhere } from '../../db/read/find-text.ts';
import { openCheckedSlices } from '../verify/checked-slices.ts';
import { openYielder } from '../yielder.ts';
import { openTurnSearch, type SearchedSide } from './find-in-turns.ts';
import { textForms } from './forms.ts';

export type FoundInSession = {
  session_id: string;
  title: string | null;
  harness_id: string;
  deleted: boolean;
  /** How many raw turns hold it, and on which sides the first of them do. */
  raw_turns: number;
  turns: { raw_turn_id: number; sides: (SearchedSide | 'columns')[] }[];
  spans: { trace_id: string; span_id: string; kind: string }[];
  /** How many rows, by table. */
  rows: Record<string, number>;
};

export type FindStep = { scanned: number } | { found: FoundInSession } | { elsewhere: FoundElsewhere };

const PAGE = { sessions: 200, turns: 50 };
const NAMED_TURNS = 100;

/** Bounded by a session's largest turn, whatever there is. */
export async function* findText(execute: Database['execute'], text: string): AsyncGenerator<FindStep, void> {
  const { bytes, json: forms } = textForms(text);
  const search = openTurnSearch(openCheckedSlices({ execute }), bytes);
  let scanned = 0;
  for (let after: string | null = null, more = true; more; ) {
    const page: string[] = await execute('sessionIds', { after, limit: PAGE.sessions });
    for (const session_id of page) {
      const found = await inSession(execute, session_id, { forms, search });
      if (found) yield { found };
      scanned += 1;
      yield { scanned };
    }
    after = page.at(-1) ?? null;
    more = page.length === PAGE.sessions;
  }
  yield { elsewhere: await execute('findTextElsewhere', { forms, bytes }) };
}

type Search = { forms: string[]; search: ReturnType<typeof openTurnSearch> };

async function inSession(
  execute: Database['execute'],
  session_id: string,
  { forms, search }: Search,
): Promise<FoundInSession | null> {
  const inRows = await execute('findTextInSession', { session_id, forms });
  if (!inRows) return null;
  const { raw_turn_ids, in_columns, spans, rows, ...session } = inRows;
  const turns: FoundInSession['turns'] = [];
  let raw_turns = 0;
  const yieldThread = openYielder();
  for (let from = 0; from < raw_turn_ids.length; from += PAGE.turns) {
    const parts = await execute('turnParts', { raw_turn_ids: raw_turn_ids.slice(from, from + PAGE.turns) });
    for (const turn of parts.sort((one, other) => one.raw_turn_id - other.raw_turn_id)) {
      const { raw_turn_id } = turn;
      const sides = [...(await search(turn)), ...(in_columns.includes(raw_turn_id) ? (['columns'] as const) : [])];
      await yieldThread(); // it may run beside a listener
      if (sides.length === 0) continue;
      raw_turns += 1;
      if (turns.length < NAMED_TURNS) turns.push({ raw_turn_id, sides });
    }
  }
  if (raw_turns === 0 && Object.keys(rows).length === 0) return null;
  return { session_id, ...session, raw_turns, turns, spans, rows };
}
