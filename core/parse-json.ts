/** Parses JSON of others with every key as written. From Node 24 on, V8 mistakes some keys that hold an escape for other keys
 *  (nodejs/node#63785). Where it does, texts with such a key are parsed here, and all others by JSON.parse. */

/** Whether JSON.parse misreads keys: tried once, with a key that nobody else has, since its result depends on keys that it parsed before. */
const misreads = (() => {
  const before = JSON.parse('{"svc-probe":[],"\\\\":0}') as object;
  return !('\n' in (JSON.parse('{"svc-probe":1,"\\n":2}') as object)) && '\\' in before;
})();

/**
 * `JSON.parse`, right on every Node. @throws {SyntaxError} as JSON.parse does
 * @example
 * parseJson('{"a": [1, null]}'); // => { a: [1, null] }
 * parseJson('{"a":'); // => throws SyntaxError
 */
export const parseJson: (json: string) => unknown = misreads
  ? (json) => (holdsEscapedKey(json) ? parseByKey(json) : JSON.parse(json))
  : (json) => JSON.parse(json);

/**
 * Whether a value of JSON is an object.
 * @example
 * isObject({ model: 'gpt-5' }); // => true
 * isObject([1]); // => false
 * isObject(null); // => false
 */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OPEN_BRACKET, OPEN_BRACE, CLOSE_BRACKET, CLOSE_BRACE] = [0x5b, 0x7b, 0x5d, 0x7d];

/** Whether a string with a backslash precedes a colon. Searches from colon to colon, since texts are long and keys short. */
export function holdsEscapedKey(json: string): boolean {
  if (!json.includes('\\')) return false;
  for (let colon = json.indexOf(':'); colon !== -1; colon = json.indexOf(':', colon + 1)) {
    let at = colon - 1;
    while (isSpace(json.charCodeAt(at))) at--;
    if (json.charCodeAt(at) !== QUOTE || isEscaped(json, at)) continue; // a colon within a text
    for (at--; at >= 0 && json.charCodeAt(at) !== QUOTE; at--) if (json.charCodeAt(at) === BACKSLASH) return true;
    if (isEscaped(json, at)) return true;
  }
  return false;
}

type Members = Record<string, unknown>;

/** Parses each key as a text of its own, which V8 gets right. Without recursion, since a stranger decides how deep the nesting is. */
export function parseByKey(json: string): unknown {
  JSON.parse(json); // throws for what is no JSON, so that the code below need not check for it
  const stack: (unknown[] | Members)[] = [];
  let root: unknown;
  let into: unknown[] | Members | undefined;
  let key: string | undefined;
  const put = (value: unknown) => {
    if (into === undefined) root = value;
    else if (Array.isArray(into)) into.push(value);
    else if (key === '__proto__') Object.defineProperty(into, key, { ...PLAIN, value });
    else into[key as string] = value;
    key = undefined;
  };
  for (let at = 0; at < json.length; ) {
    const code = json.charCodeAt(at);
    if (code === COMMA || code === COLON || isSpace(code)) at++;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      const container = code === OPEN_BRACE ? {} : [];
      put(container);
      stack.push(container);
      into = container;
      at++;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      stack.pop();
      into = stack.at(-1);
      at++;
    } else {
      const end = code === QUOTE ? afterString(json, at) : afterWord(json, at);
      const value: unknown = JSON.parse(json.slice(at, end));
      if (into !== undefined && !Array.isArray(into) && key === undefined) key = value as string;
      else put(value);
      at = end;
    }
  }
  return root;
}

const PLAIN = { writable: true, enumerable: true, configurable: true };

function afterString(json: string, at: number): number {
  let end = json.indexOf('"', at + 1);
  while (isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end + 1;
}

/** The end of a number, `true`, `false` or `null`. */
function afterWord(json: string, at: number): number {
  let end = at + 1;
  while (end < json.length && !endsWord(json.charCodeAt(end))) end++;
  return end;
}

const endsWord = (code: number) => code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code);

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** Whether an odd number of backslashes precedes. */
function isEscaped(json: string, at: number): boolean {
  let before = at - 1;
  while (json.charCodeAt(before) === BACKSLASH) before--;
  return (at - before) % 2 === 0;
}
