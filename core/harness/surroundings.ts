/** Where a harness runs, read from lines of its prompt: each value is bounded and printable, or ''. */
import { hasControlCharacter } from '../model/headers.ts';
import type { Surroundings } from './harness.ts';

export const noSurroundings: Surroundings = { cwd: '', git_branch: '', agent_name: '' };

const LONGEST = 4096;

/** The rest of the first line that begins with these words, list marks and indentation apart; ''. */
export function lineAfter(text: string, words: string): string {
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
    const before = text.slice(Math.max(0, at - 8), at);
    if (!/(?:^|\n)[ \t]{0,6}(?:- )?$/.test(at > 8 ? before : `\n${before}`)) continue;
    const from = at + words.length;
    const end = text.indexOf('\n', from);
    return printable(text.slice(from, end < 0 ? from + LONGEST : Math.min(end, from + LONGEST)));
  }
  return '';
}

/** The text between two marks, the first of which begins at or after `from`; ''. */
export function between(text: string, open: string, close: string, from = 0): string {
  const start = text.indexOf(open, from);
  const end = start < 0 ? -1 : text.indexOf(close, start + open.length);
  return end < 0 ? '' : printable(text.slice(start + open.length, Math.min(end, start + open.length + LONGEST)));
}

const printable = (value: string): string => {
  const text = value.trim();
  return hasControlCharacter(text) ? '' : text;
};
