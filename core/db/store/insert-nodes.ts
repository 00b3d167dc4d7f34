/** Inserts messages of calls as nodes: each once in its session, with the attributes of the earliest call that holds it. */
import { type SQL, sql } from 'drizzle-orm';
import type { NodeRow } from '../../model/node.ts';
import type { PgType } from '../columns/column.ts';
import { hexArray, jsonRows, pgArray } from '../literals.ts';
import { pipelined } from '../pipelined.ts';
import { sparseRows } from '../sparse-rows.ts';
import type { Sql } from '../sql.ts';

export type PlacedNode = NodeRow & { raw_turn_id: number; session_id: string };

/**
 * Whether a row is of a transcript's call. A message in a request over the wire belongs to the wire's call, whichever came first, so that
 * transcripts can come and go; but an answer that the wire only repeats stays with the transcript's call that was billed for it.
 */
export const isTranscripts = (row: SQL): SQL => sql`starts_with(${row}.call_id, 'tx:')`;

/** The attributes that an earlier call overwrites; usage columns in the order of `Usage`. */
const ATTRIBUTES = sql.raw(
  [
    ...['raw_turn_id', 'call_id', 'slice_id', 'position', 'model', 'provider', 'agent_name', 'project', 'stop_reason'],
    ...['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_5m_tokens', 'cache_write_1h_tokens'],
    ...['reasoning_tokens', 'cost_usd', 'cost_fresh', 'cost_cache_read', 'cost_cache_write_5m', 'cost_cache_write_1h'],
    ...['cost_output', 'cost_reasoning', 'requested_at', 'created_at'],
  ]
    .map((column) => `${column} = excluded.${column}`)
    .join(', '),
);

type SentNode = PlacedNode & { followed: boolean };

/** The types in which the columns are sent. */
const SENT: Record<keyof SentNode, PgType> = {
  ...{
    session_id: 'uuid',
    node_hash: 'text',
    parent_hash: 'text',
    raw_turn_id: 'bigint',
    call_id: 'text',
    slice_id: 'text',
  },
  ...{ position: 'integer', depth: 'integer', role: 'text', injected: 'text', model: 'text', provider: 'text' },
  ...{ agent_name: 'text', project: 'text', stop_reason: 'text', input_tokens: 'bigint', output_tokens: 'bigint' },
  ...{ cache_read_tokens: 'bigint', cache_write_5m_tokens: 'bigint', cache_write_1h_tokens: 'bigint' },
  ...{ reasoning_tokens: 'bigint', cost_usd: 'numeric', tool_calls: 'integer', followed: 'boolean' },
  ...{
    cost_fresh: 'numeric',
    cost_cache_read: 'numeric',
    cost_cache_write_5m: 'numeric',
    cost_cache_write_1h: 'numeric',
  },
  ...{ cost_output: 'numeric', cost_reasoning: 'numeric' },
  ...{ requested_at: 'timestamptz', created_at: 'timestamptz' },
};
const names = Object.keys(SENT) as (keyof typeof SENT)[];
const stored = names.filter((name) => name !== 'followed');
const { text, received } = sparseRows<SentNode>(names, {
  ...{ injected: '', agent_name: '', project: '', stop_reason: '', input_tokens: 0, output_tokens: 0 },
  ...{ cache_read_tokens: 0, cache_write_5m_tokens: 0, cache_write_1h_tokens: 0, reasoning_tokens: 0 },
  ...{ tool_calls: 0, followed: false },
});
const hashes = ['node_hash', 'parent_hash', 'slice_id'];
const INSERTED = {
  names: sql.raw(stored.join(', ')),
  values: sql.raw(
    stored.map((name) => (hashes.includes(name) ? `decode(r.${name}, 'hex')` : received(name))).join(', '),
  ),
  row: sql.raw(names.map((name) => `${name} ${SENT[name]}`).join(', ')),
  injected: sql.raw(received('injected')),
  followed: sql.raw(received('followed')),
};

/** Some nodes as the texts that their statements take: made in any thread. */
export type NodeRows = {
  rows: string; // JSON
  parents: { session_ids: string; node_hashes: string }; // arrays of PostgreSQL: the nodes that are heads no longer
};

export function nodeRows(nodes: readonly PlacedNode[]): NodeRows {
  const followed = new Set(
    nodes.filter(({ injected }) => injected === '').map((node) => `${node.session_id} ${node.parent_hash}`),
  );
  const rows = nodes.map((node) => text(node, { followed: followed.has(`${node.session_id} ${node.node_hash}`) }));
  const parents = [...followed].map((key) => key.split(' '));
  return {
    rows: jsonRows(rows),
    parents: {
      session_ids: pgArray(parents.map(([session = '']) => session)),
      node_hashes: hexArray(parents.map(([, hash = '']) => (hash === 'null' ? null : hash))),
    },
  };
}

/** @param areFirst no node of their sessions is stored: then only rows among these can be their parents, and are no heads already */
export async function insertNodes(tx: Sql, { rows, parents }: NodeRows, areFirst = false): Promise<void> {
  const inserted = tx.rows(sql`
    insert into svc.nodes as n (${INSERTED.names}, partition_no, is_root, is_head)
    select ${INSERTED.values}, (select s.partition_no from svc.sessions s where s.session_id = r.session_id), r.parent_hash is null,
           ${INSERTED.injected} = '' and not ${INSERTED.followed} and not exists (
             select 1 from svc.nodes c
              where c.session_id = r.session_id and c.parent_hash = decode(r.node_hash, 'hex') and c.injected = '')
      from json_to_recordset(${rows}::json) as r (${INSERTED.row})
    on conflict on constraint nodes_pkey do update set ${ATTRIBUTES}
     where case when ${isTranscripts(sql`excluded`)} = ${isTranscripts(sql`n`)}
                then (excluded.requested_at, excluded.call_id collate "C") < (n.requested_at, n.call_id collate "C")
                when ${isTranscripts(sql`n`)} then n.role <> 'assistant' or excluded.slice_id is null
                else n.role = 'assistant' and n.slice_id is not null end`);
  const headsEnded = areFirst
    ? null
    : tx.rows(sql`
        update svc.nodes n set is_head = false
          from unnest(${parents.session_ids}::uuid[], ${parents.node_hashes}::bytea[]) as p (session_id, node_hash)
         where n.session_id = p.session_id and n.node_hash = p.node_hash and n.is_head`);
  await pipelined([inserted, headsEnded]);
}
