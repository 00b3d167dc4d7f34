/** Loads calls to derive: stored rows and slices, read again into what derivation folds. */

import { messageOf } from '../../call/message-slice.ts';
import { outcomeOfTurn } from '../../call/outcome.ts';
import { readAnswer } from '../../call/read-answer.ts';
import type { Reader } from '../../call/reader.ts';
import { refusalIn } from '../../call/refusal.ts';
import { headersFrom } from '../../capture/header-template.ts';
import { unpackSlice } from '../../capture/slice-codec.ts';
import type { Database } from '../../db/database.ts';
import type { PackedBytes, TurnToDerive, Unfolded } from '../../db/derive/derive-turns.ts';
import type { CallTurn } from '../../derive/turn.ts';
import { Ending } from '../../model/coverage.ts';
import type { HeaderList } from '../../model/headers.ts';
import { FormatId } from '../../provider/formats.ts';
import { retryCount } from '../../provider/retry-count.ts';
import { openYielder } from '../yielder.ts';

const PAGE = { max_turns: 256, max_bytes: 8 * 1024 * 1024 };

/** `more`: sessions of which not all is here. `bytes`: how much was unpacked, so that a caller that collects pages can stop. */
export type LoadedTurns = { turns: CallTurn[]; more: string[]; bytes: number };

/** The next calls of sessions, in the order of the sessions and in that of each one's calls; of one session at most `max_turns`. */
export async function loadTurns(
  database: Database,
  reader: Reader,
  sessions: readonly Unfolded[],
  max_turns = PAGE.max_turns,
): Promise<LoadedTurns> {
  const page = await database.execute('turnsToDerive', { sessions, max_turns, max_bytes: PAGE.max_bytes });
  let bytes = 0;
  const unpack = (packed: PackedBytes) => {
    const unpacked = unpackSlice(packed);
    bytes += unpacked.byteLength;
    return unpacked;
  };
  const templates = new Map(Object.entries(page.templates).map(([id, packed]) => [id, unpack(packed)]));
  const headers = (template: string | null, values: string[]): HeaderList => {
    const found = template === null ? undefined : templates.get(template);
    return found ? headersFrom(found, values) : [];
  };
  const turns: CallTurn[] = [];
  const yieldThread = openYielder();
  for (const stored of page.turns) {
    turns.push(callTurn(stored, headers, unpack, reader));
    await yieldThread();
  }
  return { turns, more: page.more, bytes };
}

function callTurn(
  stored: TurnToDerive & { session_id: string },
  headers: (template: string | null, values: string[]) => HeaderList,
  unpack: (packed: PackedBytes) => Uint8Array,
  { formatById, answers }: Reader,
): CallTurn {
  const id = FormatId.safeParse(stored.format).data;
  const format = id && formatById(id);
  const requestHeaders = headers(stored.request_header_template, stored.request_header_values);
  const responseHeaders = headers(stored.response_header_template, stored.response_header_values);
  const { status } = stored;
  const answer = stored.response && {
    bytes: unpack(stored.response),
    slice_id: stored.response_slice ?? '',
    headers: responseHeaders,
  };
  const isRefusal = answer !== null && status !== null && status >= 400;
  const read = format ? readAnswer(format, answer, answers) : null;
  const reply = read?.reply ?? (format && isRefusal ? refusalIn(answer) : null);
  const { unreadable, whole, kept } = stored;
  const ending = Ending.parse(stored.ending);
  return {
    raw_turn_id: stored.raw_turn_id,
    call_id: stored.call_id,
    session_id: stored.session_id,
    thread_id: stored.thread_id,
    identity: stored.identity,
    status,
    provider: stored.provider,
    model: stored.model,
    stream: stored.stream,
    max_tokens: stored.max_tokens,
    tool_count: stored.tool_count,
    requested_at: stored.requested_at,
    first_byte_at: stored.first_byte_at,
    last_byte_at: stored.last_byte_at,
    tip_hash: stored.tip_hash,
    leaf_hash: stored.leaf_hash,
    format: stored.format,
    source: 'wire',
    kind: stored.kind,
    judged: stored.judged,
    surroundings: { cwd: stored.cwd, git_branch: stored.git_branch, agent_name: stored.agent_name },
    outcome: outcomeOfTurn({
      ending,
      status,
      whole,
      reply,
      streamed: stored.stream,
      keep: kept ? 'full' : 'metadata',
      unreadable: unreadable === '' ? null : unreadable,
      answer_unreadable: read?.unreadable ?? null,
    }),
    ending,
    retry_count: retryCount(requestHeaders),
    fresh: format
      ? stored.fresh.map(({ node_hash, parent_hash, injected, codec, bytes: packed }) => {
          const message = messageOf(format, unpack({ codec, bytes: packed }));
          return { ...message, node_hash, parent_hash, injected };
        })
      : [],
    reply,
  };
}
