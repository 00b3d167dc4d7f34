/** A folder of Claude Code's transcript files like real ones, generated from a seed: one record a content block, with copied files. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { UploadedMessage } from './transcript-uploads.ts';

/** `path` below `projects`. */
export type FolderFile = { path: string; session: string; agent_id: string; records: ClaudeLine[] };
type ClaudeLine = Record<string, unknown> & { sessionId: string; uuid: string; parentUuid: string | null };

export const MODELS = ['claude-sonnet-4-5-20250929', 'claude-opus-4-1-20250805', 'claude-3-5-haiku-20241022'] as const;

/**
 * Sessions over three days, with sub-agents in files of their own and as sidechains in the main file, answers split over records with
 * the usage repeated, abandoned branches; then files that begin with the records of another, under their own session or that of the
 * other, and copies of files under another name, whole or half.
 */
export function claudeFolder(seed: number, { sessions }: { sessions: number }): FolderFile[] {
  const draw = generator(seed);
  const files: FolderFile[] = [];
  for (let n = 0; n < sessions; n++) {
    const session = uuidOf(draw);
    const second = draw.below(3 * 86_400 - 7_200);
    const records = chat(draw, { session, second, from: null });
    files.push({ path: `atlas/${session}.jsonl`, session, agent_id: '', records });
    if (draw.below(2) === 0) files.push(agentFile(draw, session, second + 60));
  }
  for (const origin of files.filter(({ agent_id }) => agent_id === '')) {
    const kind = draw.below(6);
    if (kind === 0) files.push(resumed(draw, origin));
    if (kind === 1) files.push(forked(draw, origin));
    if (kind === 2) files.push(again(draw, origin, origin.records.length));
    if (kind === 3) files.push(again(draw, origin, Math.ceil(origin.records.length / 2)));
    if (kind === 4) files.push(resumed(draw, resumedOf(files, draw, origin)));
  }
  return files;
}

/** Writes the files as Claude Code does: compact JSON, a line a record. */
export async function writeFolder(base: string, files: readonly FolderFile[]): Promise<void> {
  for (const { path, records } of files) {
    const file = join(base, 'projects', path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${records.map((record) => JSON.stringify(record)).join('\n')}\n`);
  }
}

/** The uploads that a sweep of the folder makes. */
export const uploadsOf = (files: readonly FolderFile[]): UploadedMessage[] =>
  files.map(({ session, agent_id, records }) => ({
    session: { harness_id: 'claude', harness_session_id: session },
    ...(agent_id !== '' && { agent_id }),
    records,
  }));

type Draw = { below(n: number): number; hex(digits: number): string };

function generator(seed: number): Draw {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  };
  const below = (n: number) => next() % n;
  return { below, hex: (digits) => Array.from({ length: digits }, () => below(16).toString(16)).join('') };
}

const uuidOf = ({ hex }: Draw) => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;

type Chat = { session: string; second: number; from: string | null; agent_id?: string; side?: boolean };

/** Two to six calls after a record, with an abandoned branch and a sidechain now and then. */
function chat(draw: Draw, { session, second, from, agent_id = '', side = false }: Chat): ClaudeLine[] {
  const model = MODELS[draw.below(MODELS.length)] ?? MODELS[0];
  const lines: ClaudeLine[] = [];
  let [parent, at] = [from, second];
  const put = (type: string, after: string | null, rest: Record<string, unknown>, isSidechain = side) => {
    const uuid = uuidOf(draw);
    at += 1 + draw.below(20);
    lines.push({
      ...{ parentUuid: after, isSidechain, userType: 'external', cwd: '/home/ada/atlas', sessionId: session },
      ...{ version: '2.0.14', gitBranch: 'main', type, uuid, ...rest },
      ...(agent_id !== '' && { agentId: agent_id }),
      timestamp: new Date(Date.UTC(2026, 6, 27) + at * 1000 + draw.below(1000)).toISOString(),
    });
    return uuid;
  };
  const call = (after: string | null, isSidechain = side) => {
    const words = `Look into ${draw.hex(6)}`;
    let last = put('user', after, { message: { role: 'user', content: words } }, isSidechain);
    const requestId = `req_${draw.hex(20)}`;
    const message = {
      ...{
        id: `msg_${draw.hex(20)}`,
        type: 'message',
        role: 'assistant',
        model,
        stop_reason: 'end_turn',
        stop_sequence: null,
      },
      usage: {
        ...{ input_tokens: draw.below(2_000), output_tokens: 1 + draw.below(4_000) },
        ...{ cache_read_input_tokens: draw.below(90_000), cache_creation_input_tokens: draw.below(20_000) },
        service_tier: 'standard',
      },
    };
    for (let block = 0, blocks = 1 + draw.below(3); block < blocks; block++)
      last = put(
        'assistant',
        last,
        { requestId, message: { ...message, content: [{ type: 'text', text: `${words}, part ${block}` }] } },
        isSidechain,
      );
    return last;
  };
  for (let n = 0, calls = 2 + draw.below(5); n < calls; n++) {
    if (!side && draw.below(8) === 0) call(parent); // abandoned: the next call continues from before it
    if (!side && draw.below(8) === 0) call(call(null, true), true);
    parent = call(parent);
  }
  return lines;
}

function agentFile(draw: Draw, session: string, second: number): FolderFile {
  const agent_id = draw.hex(8);
  const records = chat(draw, { session, second, from: null, agent_id, side: true });
  return { path: `atlas/agent-${agent_id}.jsonl`, session, agent_id, records };
}

const fileOf = (session: string, records: ClaudeLine[]): FolderFile => ({
  ...{ path: `atlas/${session}.jsonl`, session, agent_id: '', records },
});

const endOf = ({ records }: FolderFile) =>
  (Date.parse(String(records.at(-1)?.timestamp)) - Date.UTC(2026, 6, 27)) / 1000;

/** A file that begins with the earlier records under its own id, and continues. */
function resumed(draw: Draw, origin: FolderFile): FolderFile {
  const session = uuidOf(draw);
  const before = origin.records.map((record) => ({ ...record, sessionId: session }));
  const from = origin.records.at(-1)?.uuid ?? null;
  return fileOf(session, [...before, ...chat(draw, { session, second: endOf(origin) + 300, from })]);
}

/** The same for a file that was resumed already. */
function resumedOf(files: FolderFile[], draw: Draw, origin: FolderFile): FolderFile {
  const once = resumed(draw, origin);
  files.push(once);
  return once;
}

/** A file that begins with copies of the records of another; each copy names its original. */
function forked(draw: Draw, origin: FolderFile): FolderFile {
  const session = uuidOf(draw);
  const before = origin.records.map((record) => ({
    ...record,
    sessionId: session,
    forkedFrom: { sessionId: origin.session, messageUuid: record.uuid },
  }));
  const from = origin.records.at(-1)?.uuid ?? null;
  return fileOf(session, [...before, ...chat(draw, { session, second: endOf(origin) + 300, from })]);
}

/** A copy of the first records, under another name. */
const again = (draw: Draw, origin: FolderFile, records: number): FolderFile =>
  fileOf(uuidOf(draw), origin.records.slice(0, records));
