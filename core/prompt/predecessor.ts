/**
 * The earlier call whose prompt a call goes on from: of the same model and credential, the newest of those that share the longest
 * beginning. Calls that were still under way when this one began are no candidates, since a provider keeps a prompt once it has read it.
 */
import type { CacheCall } from './cache-call.ts';
import { type CacheMark, numbering, openPrefixes, type Prefixes } from './prefixes.ts';

export type Earlier = {
  call: CacheCall;
  ids: readonly number[];
  marks: readonly CacheMark[];
};

/** `common`: blocks that both begin with. `line`: the lane's own, or one of another lane, from which a new lane may begin. */
export type PredecessorCandidate = { earlier: Earlier; common: number; line: 'own' | 'other' };

export type PredecessorCandidates = {
  ids: readonly number[];
  /** Best first. Of the same model and credential, unless `switched` says what differs. */
  candidates: readonly PredecessorCandidate[];
  switched: 'credential' | 'model' | null;
  /** Earlier calls of the same model and credential, whatever their lane. */
  prefixes: Prefixes<Earlier>;
};

export type Predecessors = {
  find(call: CacheCall): PredecessorCandidates;
  /** Adds a call that was billed; from its end on it is a candidate. */
  add(earlier: Earlier): void;
};

type Group = {
  credential: string;
  model: string;
  all: Prefixes<Earlier>;
  lanes: Map<string, Prefixes<Earlier>>;
  latest: Map<string, Earlier>; // of each lane
  pending: Earlier[];
};

export function openPredecessors(): Predecessors {
  const groups = new Map<string, Group>();
  const numberOf = numbering();

  const groupOf = ({ credential, model }: CacheCall): Group => {
    const key = JSON.stringify([credential, model]);
    const group = groups.get(key) ?? {
      ...{ credential, model, all: openPrefixes<Earlier>() },
      ...{ lanes: new Map(), latest: new Map(), pending: [] },
    };
    groups.set(key, group);
    return group;
  };

  const settle = (group: Group, at: string) => {
    const ended = group.pending.filter(({ call }) => (call.ended_at ?? call.at) <= at);
    if (ended.length === 0) return;
    group.pending = group.pending.filter((one) => !ended.includes(one));
    for (const earlier of ended.sort((one, other) => (one.call.at < other.call.at ? -1 : 1))) {
      const { lane } = earlier.call;
      const own = group.lanes.get(lane) ?? openPrefixes<Earlier>();
      group.lanes.set(lane, own);
      for (const prefixes of [group.all, own]) prefixes.add(earlier.ids, earlier, earlier.marks);
      group.latest.set(lane, earlier);
    }
  };

  const ofOthers = (call: CacheCall, ids: readonly number[], others: readonly Group[]): PredecessorCandidate[] =>
    others
      .flatMap(({ latest }) => [...latest.values()])
      .map((earlier): PredecessorCandidate => {
        const line = earlier.call.lane === call.lane ? 'own' : 'other';
        return { earlier, line, common: commonOf(ids, earlier.ids) };
      })
      .sort(
        (one, other) =>
          Number(other.line === 'own') - Number(one.line === 'own') ||
          other.common - one.common ||
          (one.earlier.call.at < other.earlier.call.at ? 1 : -1),
      );

  return {
    find(call) {
      const ids = call.prompt.blocks.map(({ id }) => numberOf(id));
      const own = groupOf(call);
      for (const group of groups.values()) settle(group, call.at);
      const longest = own.all.longest(ids);
      if (longest) {
        const inLane = own.lanes.get(call.lane)?.longest(ids);
        const isOtherCloser = !inLane || inLane.common < longest.common;
        const candidates = [
          ...(isOtherCloser ? [{ earlier: longest.call, common: longest.common, line: 'other' as const }] : []),
          ...(inLane ? [{ earlier: inLane.call, common: inLane.common, line: 'own' as const }] : []),
        ];
        return { ids, candidates, switched: null, prefixes: own.all };
      }
      const others = own.pending.length > 0 ? [] : [...groups.values()].filter(({ latest }) => latest.size > 0);
      const sameCredential = others.filter(({ credential }) => credential === call.credential);
      const known = sameCredential.length > 0;
      const candidates = ofOthers(call, ids, known ? sameCredential : others);
      return { ids, candidates, switched: known ? 'model' : 'credential', prefixes: own.all };
    },
    add(earlier) {
      groupOf(earlier.call).pending.push(earlier);
    },
  };
}

function commonOf(one: readonly number[], other: readonly number[]): number {
  const length = Math.min(one.length, other.length);
  let i = 0;
  while (i < length && one[i] === other[i]) i++;
  return i;
}
