/** Parses JSON that every reader understands alike: no repeated keys, over which readers differ, and no unbounded nesting. */
import { parseJson } from '../../parse-json.ts';

export class UnreadableJson extends Error {
  override readonly name = 'UnreadableJson';
  /** JSON Pointer of the object with the key; empty for the root, and where the text is no JSON. */
  readonly pointer: string;
  constructor(message: string, pointer = '') {
    super(message);
    this.pointer = pointer;
  }
}

const DEEPEST = 200;
const MOST_NODES = 50_000;

/** @throws {UnreadableJson} no JSON, text after it, a key twice, a key "__proto__", too deep or too many; quotes no value */
export function strictJson(text: string): unknown {
  const value = parsed(text);
  refuseOddKeys(text);
  return value;
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    const at = / at position (\d+)/.exec((error as Error).message)?.[1]; // the rest of the message quotes the text
    if (at === undefined)
      throw new UnreadableJson(text.trim() === '' ? 'it is empty' : 'it is no JSON, or ends too early');
    const before = text.slice(0, Number(at)).split('\n');
    throw new UnreadableJson(`it is no JSON: line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`);
  }
}

type Level = { keys: Set<string> | null; key: string; index: number };

/** Walks text that is JSON already, so that it only has to know strings, brackets and commas. */
function refuseOddKeys(text: string): void {
  const levels: Level[] = [];
  let keyNext = false;
  let nodes = 0;
  for (let at = 0; at < text.length; at++) {
    const level = levels.at(-1);
    switch (text[at]) {
      case '"': {
        const end = afterString(text, at);
        if (keyNext && level?.keys) takeKey(JSON.parse(text.slice(at, end)) as string, level, levels);
        keyNext = false;
        at = end - 1;
        break;
      }
      case '{':
      case '[':
        if (levels.length === DEEPEST) throw new UnreadableJson(`it nests deeper than ${DEEPEST} levels`);
        if (++nodes > MOST_NODES) throw new UnreadableJson(`it has more than ${MOST_NODES} objects and lists`);
        keyNext = text[at] === '{';
        levels.push({ keys: keyNext ? new Set() : null, key: '', index: 0 });
        break;
      case '}':
      case ']':
        levels.pop();
        keyNext = false;
        break;
      case ',':
        keyNext = level?.keys != null;
        if (level) level.index++;
        break;
    }
  }
}

function takeKey(key: string, level: Level, levels: readonly Level[]): void {
  const pointer = () =>
    levels
      .slice(0, -1)
      .map(
        ({ keys, key: name, index }) => `/${(keys ? name : String(index)).replaceAll('~', '~0').replaceAll('/', '~1')}`,
      )
      .join('');
  if (level.keys?.has(key))
    throw new UnreadableJson(`the key ${JSON.stringify(key.slice(0, 100))} stands twice`, pointer());
  if (key === '__proto__') throw new UnreadableJson('a key is called "__proto__"', pointer());
  level.keys?.add(key);
  level.key = key;
}

function afterString(text: string, at: number): number {
  for (let end = at + 1; ; end++) {
    end = text.indexOf('"', end);
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return end + 1;
  }
}
