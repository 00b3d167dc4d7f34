/** System prompts and definitions of tools in the index of texts: in pieces, each distinct one once, with the sessions that use it. */
import { type SQL, sql } from 'drizzle-orm';
import type { FindHit } from '../../model/find.ts';
import type { TitleParts } from '../../model/session.ts';
import { hexArray, instant, pgArray } from '../literals.ts';
import { notDeleted } from '../read/not-deleted.ts';
import { titleParts, withTitle } from '../read/session-title.ts';
import type { Sql } from '../sql.ts';
import { useIndexes } from '../use-indexes.ts';
import { type FindFilter, inWindow, joined, matching, terms } from './find-candidates.ts';

/** Where a session has a piece first. `at`: when the span began. */
export type PromptUse = {
  session_id: string;
  piece_id: string;
  trace_id: string;
  span_id: string;
  raw_turn_id: number;
  block: number;
  start: number;
  at: string;
};

/** `piece_id`: the text's SHA-256, hex. */
export type FoundPiece = { piece_id: string; text: string; terms: readonly number[] };

/** Pieces of prompts, each once, and their uses. */
export type FoundPrompts = { pieces: readonly FoundPiece[]; uses: readonly PromptUse[] };

/** Within the caller's transaction. Pieces without a use are not written. */
export async function writePrompts(tx: Sql, { pieces, uses }: FoundPrompts): Promise<void> {
  const used = new Set(uses.map(({ piece_id }) => piece_id));
  const rows = pieces.filter(({ piece_id }) => used.has(piece_id));
  if (rows.length === 0) return;
  rows.sort((a, b) => (a.piece_id < b.piece_id ? -1 : 1)); // one order, so that two writers cannot deadlock
  await tx.rows(sql`
    insert into svc.found_prompts (piece_id, text, terms)
    select k.piece_id, k.text, k.terms::smallint[]
      from unnest(${hexArray(rows.map(({ piece_id }) => piece_id))}::bytea[], ${pgArray(rows.map(({ text }) => text))}::text[],
                  ${pgArray(rows.map((row) => `{${row.terms.join(',')}}`))}::text[]) as k (piece_id, text, terms)
    on conflict (piece_id) do nothing`);
  const column = (of: (use: PromptUse) => string | number) => pgArray(uses.map(of));
  await tx.rows(sql`
    insert into svc.found_prompt_uses (session_id, piece_id, trace_id, span_id, raw_turn_id, block, start, at)
    select * from unnest(${column((u) => u.session_id)}::uuid[], ${hexArray(uses.map(({ piece_id }) => piece_id))}::bytea[],
                         ${column((u) => u.trace_id)}::uuid[], ${column((u) => u.span_id)}::uuid[], ${column((u) => u.raw_turn_id)}::bigint[],
                         ${column((u) => u.block)}::integer[], ${column((u) => u.start)}::integer[], ${column((u) => u.at)}::timestamptz[])
    on conflict (session_id, piece_id) do nothing`);
}

/** Removes those of the pieces that no session uses. */
export const removeUnused = (tx: Sql, piece_ids: readonly string[]) =>
  tx.rows(sql`
    delete from svc.found_prompts p
     where p.piece_id = any(${hexArray([...new Set(piece_ids)])}::bytea[])
       and not exists (select 1 from svc.found_prompt_uses u where u.piece_id = p.piece_id)`);

/** A use of a piece that may hold what is sought, with the call that has it first. */
export type PromptCandidate = Omit<FindHit, 'place' | 'score' | 'matches'> & {
  block: number;
  start: number;
  text: string;
};

type PromptSearch = {
  sought: readonly number[];
  filter: FindFilter;
  limit: number;
  /** Where pieces with the terms have more uses than this, so many are looked at: the newest of any piece, and any of those pieces. */
  most_uses?: number;
};

/** Where sessions differ in a date or a path, the words beside it are in a piece of each of them. */
const MOST_USES = 20_000;

/** The newest first. */
export const promptCandidates = (
  db: Sql,
  { sought, filter, limit, most_uses = MOST_USES }: PromptSearch,
): Promise<PromptCandidate[]> =>
  db.transaction(async (tx) => {
    await useIndexes(tx);
    const has = sql`q.terms @> ${terms(sought)}`;
    const ofPieces = sql`
      select c.* from (select q.piece_id from svc.found_prompts q where ${has} offset 0) q
        join svc.found_prompt_uses c on c.piece_id = q.piece_id`;
    const [counted] = await tx.rows<{ uses: number }>(sql`
      select count(*)::integer as uses from (${ofPieces} limit ${most_uses + 1}) c`);
    const matches = sql`${notDeleted(sql`c.session_id`)}${inWindow(sql`c.at`, filter)}${matching(filter)}`;
    const matchingOf = (uses: SQL) => sql`select c.* from (${uses}) c ${joined(filter)} where ${matches}`;
    if ((counted?.uses ?? 0) <= most_uses) return candidatesOf(tx, matchingOf(ofPieces), limit);
    const newest = await candidatesOf(
      tx,
      sql`select c.* from (${matchingOf(sql`select c.* from svc.found_prompt_uses c`)} order by c.at desc limit ${most_uses}) c
            join svc.found_prompts q on q.piece_id = c.piece_id and ${has}`,
      limit,
    );
    if (newest.length >= limit) return newest;
    const older = await candidatesOf(tx, matchingOf(sql`${ofPieces} limit ${most_uses}`), limit);
    const known = new Set(newest.map(keyOf));
    return [...newest, ...older.filter((candidate) => !known.has(keyOf(candidate)))].slice(0, limit);
  });

const keyOf = ({ span_id, block, start }: PromptCandidate) => `${span_id} ${block} ${start}`;

/** The newest of these uses. */
async function candidatesOf(tx: Sql, uses: SQL, limit: number): Promise<PromptCandidate[]> {
  const rows = await tx.rows<Omit<PromptCandidate, 'title'> & { title_parts: TitleParts }>(sql`
    with uses as materialized (
      select u.* from (${uses}) u order by u.at desc, u.span_id, u.block, u.start limit ${limit})
    select l.session_id, l.trace_id, l.span_id, u.raw_turn_id, ${titleParts},
           l.kind, l.name, l.model, l.status, ${instant(sql`u.at`)} as at, u.block, u.start, q.text
      from uses u
      join svc.found_prompts q on q.piece_id = u.piece_id
     cross join lateral (
       select p.* from svc.all_spans p where p.trace_id = u.trace_id and p.span_id = u.span_id limit 1) l
      left join svc.sessions s on s.session_id = l.session_id
      left join svc.session_rollups r on r.session_id = l.session_id
      left join svc.session_edits e on e.session_id = l.session_id
     order by u.at desc, u.span_id, u.block, u.start`);
  return rows.map(withTitle);
}
