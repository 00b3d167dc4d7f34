/** Differences as lines: of two texts, with the words that changed in a line, or those that a unified diff has. */
import { diffWordsWithSpace, diffLines as linesBetween } from 'diff';
import type { DiffLine } from './tokens.ts';

const TIMEOUT_MS = 120;
const AROUND = 3;
const LONGEST_WORDED = 2_000;

/** null: they differ in too much to be laid side by side in time. */
export function diffLines(before: string, after: string): DiffLine[] | null {
  const changes = linesBetween(before, after, { timeout: TIMEOUT_MS });
  if (!changes) return null;
  const lines: DiffLine[] = [];
  for (let i = 0; i < changes.length; i += 1) {
    const [change, next] = [changes[i], changes[i + 1]];
    if (!change) continue;
    const own = linesOf(change.value);
    if (change.removed && next?.added) {
      lines.push(...replaced(own, linesOf(next.value)));
      i += 1;
    } else lines.push(...own.map((text) => whole(change.added ? 'added' : change.removed ? 'removed' : 'same', text)));
  }
  return withGaps(lines);
}

/** A unified diff, as tools write it. */
export function unifiedLines(text: string): DiffLine[] {
  let isHead = true; // of a file: in its hunks, `--- note` is a line that was `-- note`
  return linesOf(text).map((line, at, lines) => {
    if (/^diff |^--- .*\n\+\+\+ .*\n@@/.test(lines.slice(at, at + 3).join('\n'))) isHead = true;
    if (line.startsWith('@@')) {
      isHead = false;
      return whole('gap', line);
    }
    if (isHead && /^(\+\+\+|---) /.test(line)) return whole('same', line);
    if (line.startsWith('+')) return whole('added', line.slice(1));
    if (line.startsWith('-')) return whole('removed', line.slice(1));
    return whole('same', line.startsWith(' ') ? line.slice(1) : line);
  });
}

const whole = (op: DiffLine['op'], text: string): DiffLine => ({ op, parts: [{ text, changed: false }] });

const linesOf = (text: string): string[] => {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
};

/** Lines that took the place of others: as many as there are pairs show which words changed. */
function replaced(removed: readonly string[], added: readonly string[]): DiffLine[] {
  if (removed.length !== added.length)
    return [...removed.map((text) => whole('removed', text)), ...added.map((text) => whole('added', text))];
  const pairs = removed.map((text, i) => worded(text, added[i] ?? ''));
  return [...pairs.map(([before]) => before), ...pairs.map(([, after]) => after)];
}

function worded(before: string, after: string): [DiffLine, DiffLine] {
  const isShort = before.length + after.length <= LONGEST_WORDED;
  const changes = isShort ? diffWordsWithSpace(before, after, { timeout: TIMEOUT_MS }) : undefined;
  if (!changes) return [whole('removed', before), whole('added', after)];
  const parts = (side: 'added' | 'removed') =>
    changes
      .filter((change) => change[side] || (!change.added && !change.removed))
      .map((change) => ({ text: change.value, changed: change[side] }));
  return [
    { op: 'removed', parts: parts('removed') },
    { op: 'added', parts: parts('added') },
  ];
}

/** Unchanged lines far from every change are left out, with a line that says how many. */
function withGaps(lines: readonly DiffLine[]): DiffLine[] {
  const near = new Set<number>();
  for (const [i, { op }] of lines.entries())
    if (op !== 'same') for (let at = i - AROUND; at <= i + AROUND; at += 1) near.add(at);
  const result: DiffLine[] = [];
  let left = 0;
  const close = () => {
    if (left > 0) result.push(whole('gap', `${left} unchanged ${left === 1 ? 'line' : 'lines'}`));
    left = 0;
  };
  for (const [i, line] of lines.entries()) {
    if (!near.has(i)) left += 1;
    else {
      close();
      result.push(line);
    }
  }
  close();
  return result;
}
