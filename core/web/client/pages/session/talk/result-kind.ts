/** What the result of a tool looks like: lines with numbers before them, JSON, a diff, text with colours of a terminal, or plain text. */
import { isPatch } from './tool-input.ts';

export type ResultKind = 'numbered' | 'json' | 'diff' | 'ansi' | 'plain';

const LOOKED_AT = 20;

export function resultKind(text: string): ResultKind {
  if (text.includes('\u001b[')) return 'ansi';
  if (isPatch(text)) return 'diff';
  if (isJson(text)) return 'json';
  return isNumbered(text) ? 'numbered' : 'plain';
}

/** The beginning decides: whether it really is JSON shows when it is read, off the page. */
const isJson = (text: string): boolean =>
  /^\s*(\{\s*["}]|\[\s*[[\]{"\d-])/.test(text) && /[\]}]\s*$/.test(text.slice(-64));

/** As `cat -n` writes: each line has its number, then a tab or an arrow; an empty line may have the number alone. */
const NUMBERED = /^(?: {0,8}(\d{1,7})(?:\t|→)| {2,8}(\d{1,7})$)/;

const isNumbered = (text: string): boolean => {
  const lines = firstLines(text).filter((line) => line !== '');
  const numbered = lines.filter((line) => NUMBERED.test(line)).length;
  return numbered >= 1 && numbered >= lines.length * 0.8;
};

const firstLines = (text: string): string[] => text.slice(0, 8_192).split('\n', LOOKED_AT);

/** The lines without their numbers, and the numbers, of a text that `resultKind` calls numbered. '' where a line has none. */
export function numberedLines(text: string): { numbers: string[]; lines: string[] } {
  const numbers: string[] = [];
  const lines = text.split('\n').map((line) => {
    const [start = '', number, alone] = NUMBERED.exec(line) ?? [];
    numbers.push(number ?? alone ?? '');
    return line.slice(start.length);
  });
  return { numbers, lines };
}
