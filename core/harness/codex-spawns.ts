/** How Codex threads were started: what a rollout records of its own thread, and of those that it spawned. */
import { type Fields, fields, isFields, text } from '../provider/json.ts';
import type { SpawnRecord, TranscriptReading } from './harness.ts';
import { objectIn } from './signs.ts';

/** What the head of a rollout records of its own thread. */
export function threadSpawn(meta: Fields): Omit<SpawnRecord, 'prompt'> {
  const source = fields(typeof meta.source === 'string' ? objectIn(meta.source) : meta.source);
  const subagent = fields(typeof source.subagent === 'string' ? objectIn(source.subagent) : source.subagent);
  const spawn = fields(subagent.thread_spawn);
  return {
    tool_use_id: '',
    path: text(spawn.agent_path),
    label: text(spawn.agent_nickname) || text(meta.agent_nickname) || text(spawn.agent_role),
    description: '',
  };
}

/** A note that a thread was started, entered again, or has ended; null for any other event. */
export const activityIn = (payload: Fields): { kind: string } | null =>
  payload.type === 'sub_agent_activity' ? { kind: text(payload.kind) } : null;

const isStart = (kind: string): boolean => kind === '' || kind === 'started';

/** False for a file that only has notes of threads that were entered again or have ended. */
export function isSpawnEvidence(records: readonly unknown[]): boolean {
  if (records.some((record) => fields(record).type === 'session_meta')) return true;
  const activities = records
    .map((record) => activityIn(fields(fields(record).payload)))
    .filter((note) => note !== null);
  return activities.length === 0 || activities.some(({ kind }) => isStart(kind));
}

/** The threads that a record says were spawned, and by which tool call. */
export function spawnedIn(record: unknown): TranscriptReading['spawned'] {
  const payload = fields(fields(record).payload);
  const activity = activityIn(payload);
  if (activity) {
    const { agent_thread_id, event_id, agent_path } = payload;
    const spawn = { ...noSpawn, thread_id: text(agent_thread_id), tool_use_id: text(event_id), path: text(agent_path) };
    return isStart(activity.kind) && spawn.thread_id !== '' ? [spawn] : [];
  }
  return payload.type === 'item_completed' ? collaboration(fields(payload.item)) : [];
}

const noSpawn: SpawnRecord = { tool_use_id: '', path: '', label: '', description: '', prompt: '' };

function collaboration({ type, tool, id, receiver_agents, prompt }: Fields): TranscriptReading['spawned'] {
  if (type !== 'CollabAgentToolCall' || tool !== 'spawn_agent' || !Array.isArray(receiver_agents)) return [];
  return receiver_agents.filter(isFields).flatMap(({ thread_id, agent_nickname, agent_path }) => {
    const spawn = { thread_id: text(thread_id), tool_use_id: text(id), path: text(agent_path) };
    return spawn.thread_id === ''
      ? []
      : [{ ...spawn, label: text(agent_nickname), description: '', prompt: text(prompt) }];
  });
}
