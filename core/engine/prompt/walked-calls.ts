/**
 * The walked calls of the sessions that readers look at. A walk to a late call takes in all before it, so it is remembered: the next
 * call, or one of those before, costs a query and what is new.
 */
import { LRUCache } from 'lru-cache';
import type { Database } from '../../db/database.ts';
import type { CacheBreak } from '../../model/cache-break.ts';
import type { PriceOf } from '../../price/prices.ts';
import { type JudgeCall, openCallJudge } from '../cache/judge-calls.ts';
import { callPrompt } from './prompts-of.ts';
import { type WalkedCall, walkPrompts } from './walk-prompts.ts';

type Execute = Database['execute'];

/** `break`: of the prompt cache; null: there is none. */
export type JudgedCall = WalkedCall & { break: CacheBreak | null };

/** A walk that stopped at some call. `marks`: of the calls so far, what the walk depends on; so it does on all `seams`.
 *  `changed_by`: the session's last change after which both were seen to hold; null: it is not derived yet. */
type Walk = {
  session_id: string;
  changed_by: string | null;
  calls: AsyncGenerator<WalkedCall, void>;
  judge: JudgeCall;
  marks: string[];
  seams: readonly number[];
  ended: boolean;
  busy: Promise<unknown>;
};

type Remembered = { walks: LRUCache<string, Walk>; calls: LRUCache<number, JudgedCall> };

const MOST = { walks: 8, calls: 256 };

const remembered = new WeakMap<Execute, Remembered>();

/** null: no such call, or none with a prompt. @param priceOf the same for each call of one database */
export async function walkedCall(execute: Execute, raw_turn_id: number, priceOf: PriceOf): Promise<JudgedCall | null> {
  const call = await execute('promptCallOf', { raw_turn_id });
  if (!call) return null;
  const { session_id } = call;
  const known = remembered.get(execute) ?? {
    walks: new LRUCache({ max: MOST.walks }),
    calls: new LRUCache({ max: MOST.calls }),
  };
  remembered.set(execute, known);
  const changed_by = await execute('sessionChangedBy', { session_id }); // before the marks: of a change after it, the next look learns
  let before = known.walks.get(session_id);
  let seams = before?.seams ?? [];
  if (!before || before.ended || changed_by === null || before.changed_by !== changed_by) {
    const now = await Promise.all([execute('promptMarks', { session_id }), execute('compactionSeams', { session_id })]);
    seams = now[1];
    before = known.walks.get(session_id); // another reader may have opened it
    if (before && isStill(before, ...now)) before.changed_by = changed_by;
    else before = undefined;
  }
  const open = () => newWalk({ execute, session_id, changed_by, priceOf, seams }, known);
  const walk = before ?? open();
  const found = walk.busy.then(() => advance(walk, raw_turn_id, known));
  walk.busy = found.catch(() => known.walks.delete(session_id)); // a walk that failed cannot go on
  const walked = await found;
  if (walked || walk !== before) return walked;
  return advance(open(), raw_turn_id, known); // it had gone past the call, which was forgotten
}

/** Whether the session's calls, as they are now, begin with those of the walk. One that has ended knows nothing of those that came since. */
const isStill = (walk: Walk, marks: readonly string[], seams: readonly number[]): boolean =>
  walk.marks.length <= marks.length &&
  !(walk.ended && walk.marks.length < marks.length) &&
  walk.marks.every((mark, n) => mark === marks[n]) &&
  walk.seams.join() === seams.join();

type Opening = Pick<Walk, 'session_id' | 'changed_by' | 'seams'> & { execute: Execute; priceOf: PriceOf };

function newWalk({ execute, session_id, changed_by, priceOf, seams }: Opening, { walks, calls }: Remembered): Walk {
  for (const [id, { call }] of calls.entries()) if (call.session_id === session_id) calls.delete(id);
  const walk: Walk = {
    session_id,
    changed_by,
    calls: walkPrompts(execute, session_id),
    judge: openCallJudge({ priceOf, seams: new Set(seams) }),
    marks: [],
    seams,
    ended: false,
    busy: Promise.resolve(),
  };
  walks.set(session_id, walk);
  return walk;
}

async function advance(walk: Walk, raw_turn_id: number, { calls }: Remembered): Promise<JudgedCall | null> {
  const known = calls.get(raw_turn_id);
  if (known && known.call.session_id === walk.session_id) return known; // a correction moves calls between sessions
  for (;;) {
    const { value } = await walk.calls.next();
    if (!value) {
      walk.ended = true;
      return null;
    }
    walk.marks.push(...value.marks);
    const judged = { ...value, break: walk.judge(callPrompt(value)).verdict.break };
    calls.set(value.call.raw_turn_id, judged);
    if (value.call.raw_turn_id === raw_turn_id) return judged;
  }
}
