/** Verifies that a session's nodes match its turns: all turns are read again, in memory, and every node and call is compared with that. */

import type { Reader } from '../../call/reader.ts';
import type { Database, OperationArgs, OperationName, OperationResult } from '../../db/database.ts';
import type { NewReading } from '../../db/derive/replace-nodes.ts';
import type { ChainedCall, StoredNode } from '../../db/read/node-chain.ts';
import { turnBytes } from '../../db/read/raw-turn-bytes.ts';
import type { PlacedNode } from '../../db/store/insert-nodes.ts';
import type { PlacedRow } from '../../db/store/put-nodes.ts';
import { storable } from '../../derive/storable.ts';
import { storedTranscripts } from '../derive/derive-evidence.ts';
import { rereadSession } from '../derive/reread-session.ts';
import { BadSlice, type CheckedSlices, notHeaders } from './checked-slices.ts';
import type { Break } from './verify-turns.ts';

/** `outdated`: nodes and calls that today's formats make otherwise out of the same bytes. That is no tampering. */
export type NodesVerified = { nodes: number; outdated: number };

type CheckOptions = {
  /** The session waits to be read again, or older rules made it: then no difference is a sign of tampering. */
  outdated: boolean;
  onBreak: (found: Break) => void;
};

const PAGE = 500;

/** What is stored of turns that came in after the reading is not checked. @throws {BadSlice} a turn cannot be read again */
export async function verifyNodes(
  database: Pick<Database, 'execute'>,
  reader: Reader,
  slices: CheckedSlices,
  session_id: string,
  { outdated, onBreak }: CheckOptions,
): Promise<NodesVerified> {
  const { waits, ...reading } = await readingOf(database, reader, slices, session_id);
  const compared = await compareNodes(database, reading, slices);
  const calls = await compareCalls(database, reading, compared.missing);
  const differences = [...compared.differences, ...calls.differences];
  const sum: NodesVerified = { nodes: compared.nodes, outdated: calls.changed.size };
  for (const { certain, ...found } of differences) {
    if (!outdated && !waits && (certain || !calls.changed.has(found.raw_turn_id)))
      onBreak({ ...found, session_seq: null });
    else sum.outdated += 1;
  }
  return sum;
}

/** `certain`: no reading of the turn, of whatever version, results in it. */
type Difference = Pick<Break, 'check' | 'node_hash' | 'what'> & { raw_turn_id: number; certain: boolean };

/** `waits`: transcripts have come in that nothing was derived from yet. `elsewhere`: nodes of history that another session holds. */
type Reading = NewReading & { waits: boolean; elsewhere: ReadonlySet<string> };

/**
 * What reading the session again would store. It queries as a rebuild does, so that both read alike; but bytes come from slices that
 * were checked, and what a rebuild would write is collected here.
 */
async function readingOf(
  database: Pick<Database, 'execute'>,
  reader: Reader,
  slices: CheckedSlices,
  session_id: string,
): Promise<Reading> {
  const readings: NewReading[] = [];
  const bytesOf = async ({ raw_turn_id }: OperationArgs<'rawTurnBytes'>): Promise<OperationResult<'rawTurnBytes'>> => {
    const [parts] = await database.execute('turnParts', { raw_turn_ids: [raw_turn_id] });
    return parts ? turnBytes(parts, slices, notHeaders) : null;
  };
  const execute = async <Name extends OperationName>(
    name: Name,
    args: OperationArgs<Name>,
  ): Promise<OperationResult<Name>> => {
    if (name === 'rawTurnBytes') return (await bytesOf(args as OperationArgs<'rawTurnBytes'>)) as OperationResult<Name>;
    if (name !== 'replaceNodes') return database.execute(name, args);
    readings.push(args as OperationArgs<'replaceNodes'>);
    return true as OperationResult<Name>;
  };
  await rereadSession({ execute }, reader, session_id, { slices, notHeaders });
  const [reading] = readings;
  if (!reading) throw new Error('Cannot hold nodes against their turns: reading them gave nothing');
  const transcripts = await storedTranscripts({ execute }, reader, session_id);
  const nodes = new Map(reading.nodes.map((node) => [node.node_hash, node]));
  for (const node of transcripts.nodes) {
    const wire = nodes.get(node.node_hash);
    if (!wire || ownsAnswer(node, wire)) nodes.set(node.node_hash, node);
  }
  const read_up_to = Math.max(reading.read_up_to, transcripts.read_up_to);
  return {
    ...reading,
    read_up_to,
    nodes: [...nodes.values()],
    waits: transcripts.waits,
    elsewhere: new Set(transcripts.elsewhere),
  };
}

/** The rule of put-nodes.ts: an answer that the wire only repeats stays with the call that it was billed for. */
const ownsAnswer = (node: PlacedNode, wire: PlacedNode): boolean => node.role === 'assistant' && wire.slice_id !== null;

type Compared = { nodes: number; differences: Difference[]; missing: ReadonlySet<string> };

async function compareNodes(
  { execute }: Pick<Database, 'execute'>,
  { session_id, read_up_to, nodes, elsewhere }: Omit<Reading, 'waits'>,
  slices: CheckedSlices,
): Promise<Compared> {
  const expectedNodes = new Map(nodes.map((node) => [node.node_hash, node]));
  const missing = new Set(expectedNodes.keys());
  const differences: Difference[] = [];
  let count = 0;
  for (let after: string | null = null, more = true; more; ) {
    const page: StoredNode[] = await execute('nodeChain', { session_id, after, limit: PAGE });
    for (const node of page) {
      missing.delete(node.node_hash);
      if (node.turn_counts && node.raw_turn_id > read_up_to) continue;
      count += 1;
      const found = differenceOf(node, expectedNodes.get(node.node_hash), elsewhere) ?? (await badSlice(node, slices));
      const { node_hash, raw_turn_id } = node;
      if (found) differences.push({ check: 'node', node_hash, raw_turn_id, ...found });
    }
    after = page.at(-1)?.node_hash ?? null;
    more = page.length === PAGE;
  }
  for (const node_hash of missing) {
    const raw_turn_id = expectedNodes.get(node_hash)?.raw_turn_id ?? 0;
    differences.push({ check: 'node', node_hash, raw_turn_id, what: 'the node is gone', certain: false });
  }
  return { nodes: count, differences, missing };
}

type Wrong = Pick<Difference, 'what' | 'certain'>;

function differenceOf(
  node: StoredNode,
  expected: PlacedNode | undefined,
  elsewhere: ReadonlySet<string>,
): Wrong | null {
  if (!node.parent_stands && !elsewhere.has(node.parent_hash ?? ''))
    return { what: 'the node that it hangs on is gone', certain: true };
  if (!expected && !node.turn_stored) return { what: turnMissing(node), certain: true };
  if (!expected) return { what: 'no turn says it', certain: false };
  const column = NODE_COLUMNS.find((name) => node[name] !== stored(expected[name]));
  return column ? { what: `its ${column} is not what the turn says`, certain: false } : null;
}

const turnMissing = ({ raw_turn_id }: { raw_turn_id: number }): string =>
  `the raw turn that its row points to, ${raw_turn_id}, is not stored`;

/** The slices of the turn itself were checked with it; but messages that no body holds as a piece have slices of their own. */
async function badSlice({ slice_id }: StoredNode, slices: CheckedSlices): Promise<Wrong | null> {
  if (slice_id === null) return null;
  try {
    await slices([slice_id]);
    return null;
  } catch (error) {
    if (error instanceof BadSlice) return { what: error.message, certain: true };
    throw error;
  }
}

/** `changed`: turns that today's formats read otherwise. */
type ComparedCalls = { differences: Difference[]; changed: Set<number> };

/**
 * A call that is read otherwise now names a node that is not stored yet, or none. One that names another node although the expected one
 * is stored was edited.
 */
async function compareCalls(
  { execute }: Pick<Database, 'execute'>,
  { session_id, read_up_to, calls }: NewReading,
  missing: ReadonlySet<string>,
): Promise<ComparedCalls> {
  const expectedCalls = new Map(calls.map((call) => [call.raw_turn_id, call]));
  const differences: Difference[] = [];
  const changed = new Set<number>();
  const addDifference = (raw_turn_id: number, what: string) =>
    differences.push({ check: 'call', node_hash: null, raw_turn_id, what, certain: true });
  for (let after = 0, more = true; more; ) {
    const page: ChainedCall[] = await execute('callChain', { session_id, after, limit: PAGE });
    for (const call of page) {
      const { raw_turn_id } = call;
      const expected = expectedCalls.get(raw_turn_id);
      expectedCalls.delete(raw_turn_id);
      if (call.turn_counts && raw_turn_id > read_up_to) continue;
      const edited = (column: 'tip_hash' | 'leaf_hash') =>
        expected?.[column] && call[column] && expected[column] !== call[column] && !missing.has(expected[column]);
      if (!expected && !call.turn_stored) addDifference(raw_turn_id, turnMissing(call));
      else if (!expected) addDifference(raw_turn_id, 'its call stands in a session that the turn does not belong to');
      else if (!call.tip_stands) addDifference(raw_turn_id, 'the node of the last message of its request is gone');
      else if (!call.leaf_stands) addDifference(raw_turn_id, 'the node of its answer is gone');
      else if (edited('tip_hash')) addDifference(raw_turn_id, "its call's tip_hash is not what the turn says");
      else if (edited('leaf_hash')) addDifference(raw_turn_id, "its call's leaf_hash is not what the turn says");
      else if (CALL_COLUMNS.some((name) => call[name] !== stored(expected[name]))) changed.add(raw_turn_id);
    }
    after = page.at(-1)?.raw_turn_id ?? after;
    more = page.length === PAGE;
  }
  for (const raw_turn_id of expectedCalls.keys()) addDifference(raw_turn_id, 'its call is gone');
  return { differences, changed };
}

/** The value as the database returns it. */
const stored = (value: PlacedNode[keyof PlacedNode] | PlacedRow[keyof PlacedRow]) =>
  typeof value === 'string' ? storable(value) : value;

const NODE_COLUMNS = [
  ...(['parent_hash', 'depth', 'role', 'injected', 'slice_id', 'raw_turn_id', 'call_id', 'position'] as const),
  ...([
    'model',
    'provider',
    'agent_name',
    'project',
    'stop_reason',
    'tool_calls',
    'requested_at',
    'created_at',
  ] as const),
  ...([
    'input_tokens',
    'output_tokens',
    'cache_read_tokens',
    'cache_write_5m_tokens',
    'cache_write_1h_tokens',
  ] as const),
  'reasoning_tokens' as const,
];

const CALL_COLUMNS = [
  ...(['tip_hash', 'leaf_hash', 'model', 'stream', 'max_tokens', 'tool_count', 'call_key'] as const),
  ...(['response_id', 'previous_response_id', 'conversation_id', 'unreadable'] as const),
];
