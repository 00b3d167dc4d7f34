/** One raw turn: its facts with the headers of both sides, or the body of one side. Turns of deleted sessions are not read. */
import { type SQL, sql } from 'drizzle-orm';
import { headersFrom } from '../../capture/header-template.ts';
import { idsIn, readRecipe } from '../../capture/recipe.ts';
import type { HeaderList } from '../../model/headers.ts';
import type { RawTurnHead } from '../../model/raw-turn.ts';
import type { Sql } from '../sql.ts';
import { notDeleted } from './not-deleted.ts';
import { present } from './present.ts';
import { joined, sliceBytes } from './raw-turn-bytes.ts';
import { type RawTurnColumns, rawTurnHead } from './raw-turn-head.ts';

/** `headers` null: none came. `digest`: of the body; null: no byte of it came. */
export type StoredSide = { headers: HeaderList | null; digest: string | null };
/** `response` null: no answer came. */
export type StoredTurn = { head: RawTurnHead; request: StoredSide; response: StoredSide | null };

/** null: no such raw turn. @throws {Error} when a slice of it is missing */
export async function readRawTurn(db: Sql, { raw_turn_id }: { raw_turn_id: number }): Promise<StoredTurn | null> {
  const [turn] = await db.rows<RawTurnColumns & Templates & { request_digest: string; response_digest: string | null }>(
    sql`select ${rawTurnHead}, ${templates}, encode(t.request_digest, 'hex') as request_digest,
               encode(t.response_digest, 'hex') as response_digest ${readable(raw_turn_id)}`,
  );
  if (!turn) return null;
  const { request_digest, response_digest, ...rest } = turn;
  const { request_header_template, request_header_values, ...others } = rest;
  const { response_header_template, response_header_values, ...head } = others;
  const request = await headersOf(db, request_header_template, request_header_values);
  const response = await headersOf(db, response_header_template, response_header_values);
  return {
    head: present<RawTurnHead>(head),
    request: { headers: request, digest: request_digest },
    response: response === null && response_digest === null ? null : { headers: response, digest: response_digest },
  };
}

/** `bytes` as they came, still in their content coding. */
export type StoredBody = StoredSide & { bytes: Uint8Array };

/** null: no such raw turn. `body` null: no answer came. @throws {Error} when a slice of it is missing */
export async function rawTurnBody(
  db: Sql,
  { raw_turn_id, side }: { raw_turn_id: number; side: 'request' | 'response' },
): Promise<{ body: StoredBody | null } | null> {
  const [turn] = await db.rows<Body>(sql`
    select encode(${column(side, 'header_template')}, 'hex') as header_template, ${column(side, 'header_values')} as header_values,
           encode(${column(side, 'digest')}, 'hex') as digest, encode(t.response_slice, 'hex') as response_slice,
           t.request_pages, t.request_page_depth
           ${readable(raw_turn_id)}`);
  if (!turn) return null;
  const { header_template, header_values, digest } = turn;
  if (side === 'response' && header_template === null && digest === null) return { body: null };
  const recipe = { roots: idsIn(turn.request_pages), depth: turn.request_page_depth };
  const ids =
    side === 'request'
      ? await readRecipe(recipe, (pages) => sliceBytes(db, pages))
      : [turn.response_slice].filter((id) => id !== null);
  const headers = await headersOf(db, header_template, header_values);
  return { body: { headers, digest, bytes: joined(await sliceBytes(db, ids)) } };
}

type Templates = {
  request_header_template: string | null;
  request_header_values: string[];
  response_header_template: string | null;
  response_header_values: string[];
};
const templates = sql`
  encode(t.request_header_template, 'hex') as request_header_template, t.request_header_values,
  encode(t.response_header_template, 'hex') as response_header_template, t.response_header_values`;

type Body = {
  header_template: string | null;
  header_values: string[];
  digest: string | null;
  response_slice: string | null;
  request_pages: Uint8Array;
  request_page_depth: number;
};
const column = (side: 'request' | 'response', name: 'header_template' | 'header_values' | 'digest'): SQL =>
  sql`t.${sql.identifier(`${side}_${name}`)}`;

const readable = (raw_turn_id: number): SQL => sql`
  from svc.effective_turns a
  join svc.raw_turns t on t.raw_turn_id = a.raw_turn_id
 where a.raw_turn_id = ${raw_turn_id}::bigint and ${notDeleted(sql`a.session_id`)}`;

/** null: none came. */
async function headersOf(db: Sql, template: string | null, values: string[]): Promise<HeaderList | null> {
  const [bytes] = template === null ? [] : await sliceBytes(db, [template]);
  return bytes ? headersFrom(bytes, values) : null;
}
