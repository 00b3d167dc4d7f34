/** JSON.parse for a cassette's process, with every key as it is written. Twin of core/parse-json.ts, which has the reasons and
 *  cannot be read from here; one test runs both. */

/** Whether JSON.parse misreads keys: tried once, with a key that nobody else uses, since what it parsed before decides what it reads. */
const misreads = (() => {
  const before = JSON.parse('{"svc-probe":[],"\\\\":0}');
  return !('\n' in JSON.parse('{"svc-probe":1,"\\n":2}')) && '\\' in before;
})();

/** `JSON.parse`, right on every Node. @throws {SyntaxError} as JSON.parse does */
export const parseJson = misreads
  ? (json) => (holdsEscapedKey(json) ? parseByKey(json) : JSON.parse(json))
  : (json) => JSON.parse(json);

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OPEN_BRACKET, OPEN_BRACE, CLOSE_BRACKET, CLOSE_BRACE] = [0x5b, 0x7b, 0x5d, 0x7d];

/** Whether a string with a backslash stands before a colon. Only looks before colons: texts are long, keys short. */
export function holdsEscapedKey(json) {
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

/** Parses each key as a separate text, which V8 gets right. Without recursion, since a stranger may nest as deep as he likes. */
export function parseByKey(json) {
  JSON.parse(json); // throws for invalid JSON, so that the rest can rely on valid JSON
  const within = [];
  let root;
  let into;
  let key;
  const put = (value) => {
    if (into === undefined) root = value;
    else if (Array.isArray(into)) into.push(value);
    else if (key === '__proto__') Object.defineProperty(into, key, { ...PLAIN, value });
    else into[key] = value;
    key = undefined;
  };
  for (let at = 0; at < json.length; ) {
    const code = json.charCodeAt(at);
    if (code === COMMA || code === COLON || isSpace(code)) at++;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      const container = code === OPEN_BRACE ? {} : [];
      put(container);
      within.push(container);
      into = container;
      at++;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      within.pop();
      into = within.at(-1);
      at++;
    } else {
      const end = code === QUOTE ? afterString(json, at) : afterWord(json, at);
      const value = JSON.parse(json.slice(at, end));
      if (into !== undefined && !Array.isArray(into) && key === undefined) key = value;
      else put(value);
      at = end;
    }
  }
  return root;
}

const PLAIN = { writable: true, enumerable: true, configurable: true };

function afterString(json, at) {
  let end = json.indexOf('"', at + 1);
  while (isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end + 1;
}

/** After a number, `true`, `false` or `null`. */
function afterWord(json, at) {
  let end = at + 1;
  while (end < json.length && !endsWord(json.charCodeAt(end))) end++;
  return end;
}

const endsWord = (code) => code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code);

const isSpace = (code) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** Whether an odd number of backslashes stands before. */
function isEscaped(json, at) {
  let before = at - 1;
  while (json.charCodeAt(before) === BACKSLASH) before--;
  return (at - before) % 2 === 0;
}
