/** The colours of a terminal's output, as runs with looks. What else a terminal would obey stays in the text. */
import type { Look, TextRun } from './tokens.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const STYLE = /\x1b\[([0-9;:]{0,40})m/g;

type Style = { color: number | null; looks: ReadonlySet<Look> };

const PLAIN: Style = { color: null, looks: new Set() };
const SWITCHES: Readonly<Record<number, Look>> = { 1: 'bold', 2: 'dim', 3: 'italic', 4: 'underline', 7: 'inverse' };
const OFF: Readonly<Record<number, readonly Look[]>> = {
  22: ['bold', 'dim'],
  23: ['italic'],
  24: ['underline'],
  27: ['inverse'],
};

export function ansiRuns(text: string): TextRun[] {
  const runs: TextRun[] = [];
  let style = PLAIN;
  let end = 0;
  const put = (run: string) => {
    if (run !== '') runs.push({ text: run, looks: looksOf(style) });
  };
  for (const match of text.matchAll(STYLE)) {
    put(text.slice(end, match.index));
    style = styled(style, (match[1] ?? '').split(/[;:]/).map(Number));
    end = match.index + match[0].length;
  }
  put(text.slice(end));
  return runs;
}

const looksOf = ({ color, looks }: Style): Look[] => [...looks, ...(color === null ? [] : [`ansi-${color}` as const])];

function styled(style: Style, codes: readonly number[]): Style {
  let { color } = style;
  let looks = new Set(style.looks);
  for (let i = 0; i < codes.length; i += 1) {
    const code = codes[i] ?? 0;
    const on = SWITCHES[code];
    if (code === 0) {
      color = null;
      looks = new Set();
    } else if (on) looks.add(on);
    else if (OFF[code]) for (const look of OFF[code]) looks.delete(look);
    else if (code >= 30 && code <= 37) color = code - 30;
    else if (code >= 90 && code <= 97) color = code - 90 + 8;
    else if (code === 39) color = null;
    else if (code === 38 || code === 48) {
      const [nearest, taken] = extended(codes.slice(i + 1));
      if (code === 38) color = nearest;
      i += taken;
    }
  }
  return { color, looks };
}

/** A colour of 256 or of 16 million as the nearest of sixteen, and how many codes it took. */
function extended([kind, ...rest]: readonly number[]): [color: number | null, taken: number] {
  if (kind === 5) return [ofPalette(rest[0] ?? 0), 2];
  if (kind === 2) return [nearest(rest[0] ?? 0, rest[1] ?? 0, rest[2] ?? 0), 4];
  return [null, 0];
}

function ofPalette(index: number): number {
  if (index < 16) return index;
  if (index >= 232) return index > 243 ? 7 : 8;
  const cube = index - 16;
  const level = (step: number) => (step === 0 ? 0 : 55 + 40 * step);
  return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

function nearest(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue);
  if (most < 48) return 0;
  const bit = (value: number) => (value > most / 2 ? 1 : 0);
  return bit(red) + 2 * bit(green) + 4 * bit(blue) + (most > 200 ? 8 : 0);
}
