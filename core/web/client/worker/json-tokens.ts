/** JSON in indented lines, as runs with looks. What is recorded is not made anew: digits, doubled keys and the order of keys stay. */
import type { Look, TextRun } from './tokens.ts';

const MOST_NODES = 20_000;
const DEEPEST = 200;
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"?|[[\]{},:]|[^\s[\]{},:"]+/g;

/** null: it is none, or too much of it to be formatted. */
export function jsonRuns(text: string): TextRun[] | null {
  if (!isJson(text)) return null;
  const tokens = text.match(TOKENS) ?? [];
  const runs: TextRun[] = [];
  const put = (run: string, look?: Look) => runs.push({ text: run, looks: look ? [look] : [] });
  const line = () => `\n${'  '.repeat(depth)}`;
  let [depth, nodes] = [0, 0];
  for (let at = 0; at < tokens.length; at += 1) {
    const [token = '', next = ''] = tokens.slice(at, at + 2);
    const isKey = next === ':';
    if (!/[\]},:]/.test(token[0] ?? '') && !isKey && (++nodes > MOST_NODES || depth > DEEPEST)) return null;
    if (token === ',') put(`,${line()}`);
    else if (token === ':') put(': ');
    else if (/^[\]}]/.test(token)) {
      depth -= 1;
      put(line() + token);
    } else if (/^[[{]/.test(token)) {
      const isEmpty = /^[\]}]/.test(next);
      if (isEmpty) at += 1;
      else depth += 1;
      put(token + (isEmpty ? next : line()));
    } else put(token.startsWith('"') ? readable(token) : token, lookOf(token, isKey));
  }
  return runs;
}

const lookOf = (token: string, isKey: boolean): Look => {
  if (token.startsWith('"')) return isKey ? 'attribute' : 'string';
  return /^[-\d]/.test(token) ? 'number' : 'literal';
};

/** Without escapes that need not be: `é` for `\u00e9`. */
const readable = (token: string): string => JSON.stringify(JSON.parse(token));

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
