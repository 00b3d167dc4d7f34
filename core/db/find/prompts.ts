/** System prompts and definitions of tools in the index of texts: in pieces, each distinct one once, with the sessions that use it. */
import { sql } from 'drizzle-orm';
import type { FindHit } from '../../model/find.ts';
import { hexArray, instant, pgArray } from '../literals.ts';
import { notDeleted } from '../read/not-deleted.ts';
import type { Sql } from '../sql.ts';
import { useIndexes } from '../use-indexes.ts';
import { type FindFilter, inWindow, joined, matching, terms } from './find-candidates.ts';

/** A piece of a prompt where a session has it first. `piece_id`: the text's SHA-256, hex. */
export type FoundPrompt = {
  piece_id: string;
  text: string;
  terms: readonly number[];
  trace_id: string;
  span_id: string;
  raw_turn_id: number;
  block: number;
  start: number;
};

/** Within the caller's transaction. */
export async function writePrompts(tx: Sql, session_id: string, prompts: readonly FoundPrompt[]): Promise<void> {
  if (prompts.length === 0) return;
  const rows = [...prompts].sort((a, b) => (a.piece_id < b.piece_id ? -1 : 1)); // one order, so that two writers cannot deadlock
  const ids = hexArray(rows.map(({ piece_id }) => piece_id));
  await tx.rows(sql`
    insert into svc.found_prompts (piece_id, text, terms)
    select k.piece_id, k.text, k.terms::smallint[]
      from unnest(${ids}::bytea[], ${pgArray(rows.map(({ text }) => text))}::text[],
                  ${pgArray(rows.map((row) => `{${row.terms.join(',')}}`))}::text[]) as k (piece_id, text, terms)
    on conflict (piece_id) do nothing`);
  await tx.rows(sql`
    insert into svc.found_prompt_uses (session_id, piece_id, trace_id, span_id, raw_turn_id, block, start, at)
    select p.session_id, k.piece_id, p.trace_id, p.span_id, k.raw_turn_id, k.block, k.start, p.started_at
      from unnest(${ids}::bytea[], ${pgArray(rows.map(({ trace_id }) => trace_id))}::uuid[],
                  ${pgArray(rows.map(({ span_id }) => span_id))}::uuid[], ${pgArray(rows.map(({ raw_turn_id }) => raw_turn_id))}::bigint[],
                  ${pgArray(rows.map(({ block }) => block))}::integer[], ${pgArray(rows.map(({ start }) => start))}::integer[])
             as k (piece_id, trace_id, span_id, raw_turn_id, block, start)
      join svc.all_spans p on p.trace_id = k.trace_id and p.span_id = k.span_id and p.session_id = ${session_id}::uuid
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

const MOST_PIECES = 500;

/** The newest first. */
export const promptCandidates = (
  db: Sql,
  { sought, filter, limit }: { sought: readonly number[]; filter: FindFilter; limit: number },
): Promise<PromptCandidate[]> =>
  db.transaction(async (tx) => {
    await useIndexes(tx);
    return tx.rows<PromptCandidate>(sql`
      with pieces as materialized (
        select q.piece_id, q.text from svc.found_prompts q where q.terms @> ${terms(sought)} limit ${MOST_PIECES}),
      uses as (
        select c.trace_id, c.span_id, c.raw_turn_id, c.block, c.start, c.at, q.text
          from pieces q join svc.found_prompt_uses c on c.piece_id = q.piece_id ${joined(filter)}
         where ${notDeleted(sql`c.session_id`)}${inWindow(sql`c.at`, filter)}${matching(filter)}
         order by c.at desc, c.span_id, c.block, c.start
         limit ${limit})
      select l.session_id, l.trace_id, l.span_id, u.raw_turn_id, coalesce(e.display_name, r.title, r.name) as title,
             l.kind, l.name, l.model, l.status, ${instant(sql`u.at`)} as at, u.block, u.start, u.text
        from uses u
       cross join lateral (
         select p.* from svc.all_spans p where p.trace_id = u.trace_id and p.span_id = u.span_id limit 1) l
        left join svc.session_rollups r on r.session_id = l.session_id
        left join svc.session_edits e on e.session_id = l.session_id
       order by u.at desc, u.span_id, u.block, u.start`);
  });
