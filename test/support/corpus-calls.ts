/** The recorded Codex session with sub-agents: as derivation reads it, without a database, and as a client would send it to the ingest API. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { completeTurn } from '../../core/call/complete-turn.ts';
import { callMemory } from '../../core/call/memory.ts';
import { messageOf } from '../../core/call/message-slice.ts';
import { openExchange } from '../../core/call/open-exchange.ts';
import { readAnswer } from '../../core/call/read-answer.ts';
import type { Anchor } from '../../core/derive/evidence.ts';
import { compareKeys } from '../../core/derive/order.ts';
import type { CallTurn } from '../../core/derive/turn.ts';
import { ingestExchange } from '../../core/engine/ingest/ingest-exchange.ts';
import { formatById } from '../../core/provider/formats.ts';
import { SESSION } from './call-turn.ts';
import { fixtureFolder } from './fixtures.ts';
import { uploadBody } from './transcript-uploads.ts';

type Row = {
  id: number;
  source: 'wire' | 'transcript';
  provider: string;
  raw_request: unknown;
  response: unknown;
  meta: Record<string, unknown>;
  session_envelope: Record<string, unknown>;
};

export type Corpus = { turns: CallTurn[]; anchors: Map<string, Anchor> };

/** null, with a printed skip, where the fixtures are absent. @param change edits a row before it is read */
export function corpus(change: (row: Row) => Row = (row) => row): Corpus | null {
  const lines = corpusRows()?.map(change);
  if (!lines) return null;
  const known = new Set<string>();
  const turns = lines
    .filter(({ source }) => source === 'wire')
    .map(callTurn)
    .sort(compareKeys)
    .map((turn) => {
      const fresh = turn.fresh.filter(({ node_hash }) => !known.has(node_hash));
      for (const hash of [...turn.fresh.map(({ node_hash }) => node_hash), turn.leaf_hash ?? '']) known.add(hash);
      return { ...turn, fresh };
    });
  return { turns, anchors: new Map(lines.filter(({ source }) => source === 'transcript').map(anchorOf)) };
}

/** Bodies of the ingest API; null, with a printed skip, where the fixtures are absent. */
export function corpusBodies(): { turns: string[]; files: Uint8Array<ArrayBuffer>[] } | null {
  const rows = corpusRows();
  if (!rows) return null;
  const of = (wanted: Row['source']) => rows.filter(({ source }) => source === wanted);
  return {
    turns: of('wire').map((row) => JSON.stringify(turnBody(row))),
    files: of('transcript').map(({ raw_request: records, meta, session_envelope: session }) => {
      const { agent_id, agent_type, description, tool_use_id } = meta;
      return uploadBody({ session, agent_id, agent_type, description, tool_use_id, records });
    }),
  };
}

function corpusRows(): Row[] | null {
  const folder = fixtureFolder('corpus');
  if (!folder) return null;
  const text = gunzipSync(readFileSync(join(folder, 'corpus-codex-delta.jsonl.gz'))).toString();
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
}

const turnBody = ({ provider, raw_request, response, meta, session_envelope }: Row) => ({
  ...{ provider, request: raw_request, response, meta, session: session_envelope },
});

/** The turn of a row; its `fresh` still holds everything that the request repeats. */
function callTurn(row: Row): CallTurn {
  const { id } = row;
  const ingested = ingestExchange(Buffer.from(JSON.stringify(turnBody(row))), {
    identityKey: new Uint8Array(32),
    newId: () => `row-${id}`,
    now: () => '2026-07-23T00:00:00.000000Z',
    subject: null,
  });
  if (ingested.kind !== 'turn') throw new Error(`Cannot read row ${id}: ${ingested.error}`);
  const { exchange } = ingested;
  const memory = callMemory();
  const prepared = completeTurn(openExchange(exchange, ingested.identityOf, memory), null, memory);
  if (prepared.kind !== 'turn' || !exchange.format) throw new Error(`Cannot read row ${id}: it is no turn`);
  const { turn, slices } = prepared;
  const { call, messages } = turn.nodes;
  const bytes = new Map(slices.map((slice) => [slice.slice_id, slice.bytes]));
  const format = formatById(exchange.format);
  return {
    ...{ raw_turn_id: id, call_id: turn.call_id, session_id: SESSION, thread_id: turn.identity.thread_id },
    ...{ source: 'wire', kind: call.kind, judged: call.judged, identity: turn.identity },
    surroundings: { cwd: call.cwd, git_branch: call.git_branch, agent_name: call.agent_name },
    ...{ outcome: turn.outcome, ending: turn.ending, status: turn.status },
    ...{ provider: turn.provider, format: turn.format, model: call.model, stream: call.stream },
    ...{ max_tokens: call.max_tokens, tool_count: call.tool_count, retry_count: 0 },
    ...{ requested_at: turn.requested_at, first_byte_at: null, last_byte_at: turn.last_byte_at },
    fresh: messages.map(({ node_hash, parent_hash, injected, slice_id }) => ({
      ...messageOf(format, bytes.get(slice_id ?? '') ?? new Uint8Array()),
      ...{ node_hash, parent_hash, injected },
    })),
    ...{ tip_hash: call.tip_hash, leaf_hash: call.leaf_hash },
    reply: readAnswer(format, { bytes: exchange.response, headers: exchange.response_headers ?? [] }).reply,
  };
}

function anchorOf({ meta }: Row): [string, Anchor] {
  const thread_id = String(meta.agent_id);
  return [
    thread_id,
    {
      thread_id,
      tool_use_id: String(meta.tool_use_id),
      path: String(meta.description),
      label: String(meta.agent_type),
      description: String(meta.description),
    },
  ];
}
