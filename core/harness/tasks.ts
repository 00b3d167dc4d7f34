/** Lists of tasks as harnesses' tools maintain them, bounded in size. */
import { fields, text } from '../provider/json.ts';
import type { Task } from './harness.ts';

const MOST = 200;
const LONGEST = 200;

/** A task with its texts cut. */
export const task = (id: string, subject: string, status: string): Task => ({
  id: cut(id),
  subject: cut(subject),
  status: cut(status) || 'pending',
});

/** The latest tasks, at most `MOST`. */
export const bounded = (tasks: readonly Task[]): Task[] => tasks.slice(-MOST);

/** A list that a tool writes as a whole each time: its tasks are identified by position. null: there is no list. */
export function wholeList(list: unknown, subjectKey: string): Task[] | null {
  if (!Array.isArray(list)) return null;
  return list.slice(0, MOST).map((value, at) => {
    const entry = fields(value);
    return task(String(at + 1), text(entry[subjectKey]), text(entry.status));
  });
}

const cut = (words: string): string => {
  const head = words.slice(0, LONGEST);
  return /[\uD800-\uDBFF]$/.test(head) ? head.slice(0, -1) : head; // half a character is none
};
