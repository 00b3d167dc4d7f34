/** The conversation in a Claude Code file: the records form a tree, and those from a root to the active leaf are the conversation. */
import { type Fields, fields, isFields, text } from '../provider/json.ts';

export type ClaudeRecord = {
  index: number;
  type: string;
  uuid: string;
  parent: string; // ''
  side: boolean;
  answer: string; // the answer that the record is a piece of; ''
  raw: Fields;
};

/** The records in the tree, and the uuid of the leaf that the newest usable record of a prompt names. */
export type ClaudeTree = { byId: ReadonlyMap<string, ClaudeRecord>; leaf: string };

export function claudeTree(records: readonly unknown[]): ClaudeTree {
  const byId = new Map<string, ClaudeRecord>();
  const leaves: string[] = [];
  for (const [index, raw] of records.entries()) {
    if (!isFields(raw)) continue;
    if (raw.type === 'last-prompt' && text(raw.leafUuid) !== '') leaves.push(text(raw.leafUuid));
    const uuid = text(raw.uuid);
    if (uuid === '' || typeof raw.type !== 'string' || byId.has(uuid)) continue; // an import may repeat existing records
    // A compaction cuts the chain of what is sent, not the conversation.
    const parent = text(raw.parentUuid) || text(raw.logicalParentUuid);
    byId.set(uuid, { index, type: raw.type, uuid, parent, side: raw.isSidechain === true, answer: answerOf(raw), raw });
  }
  return { byId, leaf: leaves.findLast((leaf) => byId.has(leaf)) ?? '' };
}

const answerOf = (raw: Fields): string => {
  const id = raw.type === 'assistant' ? text(fields(raw.message).id) : '';
  return id === '' ? '' : `${id} ${text(raw.requestId)}`;
};

/**
 * The active path in the order of the conversation, with the pieces of each answer next to each other. Pieces and results of tools
 * that ran in parallel hang beside the path: they belong to it all the same. Linear in the records.
 */
export const activePath = (tree: ClaudeTree, main: boolean): ClaudeRecord[] => wholePath(tree, activeLeaf(tree, main));

/** A path with answers that the active one does not hold: a branch that was left, or a sub-agent in the file of the main thread. */
export type OtherPath = { path: ClaudeRecord[]; root: ClaudeRecord; is_side: boolean };

/** Each may be as long as its file; a person goes back only a few times. The newest are taken. */
const MOST_PATHS = 64;

/** The other paths, in the order of their leaves. A sub-agent's path is without the records of the main thread that it may descend from. */
export function otherPaths(tree: ClaudeTree, active: readonly ClaudeRecord[], main: boolean): OtherPath[] {
  const seen = new Set(active);
  const answered = new Set(active.map(({ answer, uuid }) => answer || uuid));
  const parents = new Set([...tree.byId.values()].map(({ parent }) => parent));
  const leaves: ClaudeRecord[] = [];
  for (const end of [...tree.byId.values()].filter(({ uuid }) => !parents.has(uuid)).reverse()) {
    let hasNewAnswer = false;
    for (let at: ClaudeRecord | undefined = end; at && !seen.has(at); at = tree.byId.get(at.parent)) {
      seen.add(at);
      const answer = at.answer || at.uuid;
      if (at.type === 'assistant' && !answered.has(answer)) hasNewAnswer = true;
      if (at.type === 'assistant') answered.add(answer);
    }
    if (hasNewAnswer && leaves.length < MOST_PATHS) leaves.push(end);
  }
  return leaves.reverse().flatMap((leaf) => {
    const is_side = main && leaf.side;
    const path = wholePath(tree, leaf).filter(({ side }) => !is_side || side);
    const [root] = path;
    return root ? [{ path, root, is_side }] : [];
  });
}

function wholePath(tree: ClaudeTree, leaf: ClaudeRecord | undefined): ClaudeRecord[] {
  const path = pathTo(leaf, tree.byId);
  const pieces = new Map<string, ClaudeRecord[]>();
  const results = new Map<string, ClaudeRecord[]>();
  for (const record of tree.byId.values()) {
    if (record.answer !== '') push(pieces, record.answer, record);
    else if (record.type === 'user' && record.parent !== '' && isResult(record)) push(results, record.parent, record);
  }
  const onPath = new Set(path);
  const done = new Set<ClaudeRecord>();
  const out: ClaudeRecord[] = [];
  const add = (record: ClaudeRecord) => {
    if (done.has(record)) return;
    done.add(record);
    out.push(record);
  };
  for (const record of path) {
    const whole =
      record.answer === '' ? [record] : (pieces.get(record.answer) ?? []).filter(({ side }) => side === record.side);
    if (done.has(record)) continue;
    for (const piece of whole) add(piece);
    if (record.answer === '') continue;
    const beside = whole.flatMap(({ uuid }) => results.get(uuid) ?? []).filter((result) => !onPath.has(result));
    for (const result of beside) add(result);
  }
  return out;
}

function push<T>(lists: Map<string, T[]>, key: string, member: T): void {
  const list = lists.get(key);
  if (list) list.push(member);
  else lists.set(key, [member]);
}

const isResult = ({ raw }: ClaudeRecord): boolean => {
  const { content } = fields(raw.message);
  return Array.isArray(content) && content.length > 0 && content.every((block) => fields(block).type === 'tool_result');
};

/** The path from the root to a leaf. It ends at a parent that is missing or already on it. */
function pathTo(leaf: ClaudeRecord | undefined, byId: ClaudeTree['byId']): ClaudeRecord[] {
  const path = new Set<ClaudeRecord>();
  for (let at = leaf; at && !path.has(at); at = byId.get(at.parent)) path.add(at);
  return [...path].reverse();
}

/** The latest leaf at or below the one that a prompt's record names; without one the latest of the file's own kind. */
function activeLeaf({ byId, leaf }: ClaudeTree, main: boolean): ClaudeRecord | undefined {
  const parents = new Set([...byId.values()].map(({ parent }) => parent));
  const all = [...byId.values()];
  const ends = all.filter(({ uuid }) => !parents.has(uuid));
  const named = byId.get(leaf);
  if (named) {
    const below = descends(byId, leaf);
    return ends.findLast((end) => below(end)) ?? named;
  }
  const own = (record: ClaudeRecord) => record.side !== main;
  return ends.findLast(own) ?? ends.at(-1) ?? all.findLast(own) ?? all.at(-1);
}

/** Whether a record descends from an ancestor. Results are remembered, so that all look-ups together are linear. */
function descends(byId: ClaudeTree['byId'], ancestor: string): (record: ClaudeRecord) => boolean {
  const known = new Map<string, boolean>([[ancestor, true]]);
  return (record) => {
    const visited: string[] = [];
    let at: ClaudeRecord | undefined = record;
    while (at && !known.has(at.uuid)) {
      known.set(at.uuid, false); // until the result is known; a cycle does not reach the ancestor
      visited.push(at.uuid);
      at = byId.get(at.parent);
    }
    const found = at !== undefined && known.get(at.uuid) === true;
    for (const uuid of visited) known.set(uuid, found);
    return found;
  };
}
