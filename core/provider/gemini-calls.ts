/**
 * The function calls of Gemini, also those whose arguments a stream sends in parts (`streamFunctionCallArguments` of Vertex): each
 * part names the place of a value by a JSON path (RFC 9535), and a text goes on in the next part of its path.
 */
import type { ContentBlock } from '../model/content-block.ts';
import { list, named } from './gemini-names.ts';
import { type Fields, fields, isFields, text } from './json.ts';

/** A call without an id gets its function's name as id, since its result refers to it by that name. */
export const callOf = (call: Fields) => ({
  tool_use_id: text(call.id) || text(call.name),
  tool_name: text(call.name),
  tool_input: call.args ?? {},
});

/** A call under way: `continued` has the paths whose text goes on. */
type GrowingCall = { block: ContentBlock; args: Fields; continued: Set<string> };

/** Assembles calls that come in parts: they follow each other, and the last part of each is the one that does not continue. */
export function callsInParts() {
  let growing: GrowingCall | null = null;
  let hasEnded = false;
  return {
    /** @returns the block of a call that begins with this part, which later ones fill; none for those. null: a part of something else */
    blocksOf(part: Fields): ContentBlock[] | null {
      const call = named(part, 'functionCall');
      if (!isFields(call)) return null;
      const continues = named(call, 'willContinue') === true;
      if (growing !== null && isAnother(call, growing)) growing = null;
      if (growing === null && !continues && named(call, 'partialArgs') === undefined)
        return hasEnded && isNameless(call) ? [] : null; // an end alone, or a call that came whole
      const begun = growing === null;
      growing ??= newCall(call);
      const { block } = growing;
      addTo(growing, call, text(named(part, 'thoughtSignature')));
      hasEnded = !continues;
      if (hasEnded) growing = null;
      return begun ? [block] : [];
    },
  };
}

const isNameless = ({ name, args }: Fields): boolean => text(name) === '' && args === undefined;

/** A call that begins though the last one has not ended. */
const isAnother = ({ name }: Fields, { block }: GrowingCall): boolean => text(name) !== '' && name !== block.tool_name;

function newCall(call: Fields): GrowingCall {
  const args = {};
  return { block: { type: 'tool_use', ...callOf(call), tool_input: args }, args, continued: new Set() };
}

function addTo({ block, args, continued }: GrowingCall, call: Fields, signature: string): void {
  if (text(call.id) !== '') block.tool_use_id = text(call.id);
  if (signature !== '') block.thinking_signature = signature;
  for (const [name, value] of Object.entries(fields(call.args))) setMember(args, name, value);
  for (const part of list(named(call, 'partialArgs')).map(fields)) {
    const path = text(named(part, 'jsonPath'));
    const steps = stepsOf(path);
    const value = valueIn(part);
    if (steps !== null && value !== undefined) put(args, steps, value, continued.has(path));
    if (named(part, 'willContinue') === true) continued.add(path);
    else continued.delete(path);
  }
}

/** undefined: the part has none, and only says whether the text goes on. */
function valueIn(part: Fields): string | number | boolean | null | undefined {
  const [words, number, flag] = ['stringValue', 'numberValue', 'boolValue'].map((name) => named(part, name));
  if (typeof words === 'string') return words;
  if (typeof number === 'number') return number;
  if (typeof flag === 'boolean') return flag;
  return ['nullValue', 'null_value'].some((name) => Object.hasOwn(part, name)) ? null : undefined;
}

/** Longer paths would nest deeper than what is hashed and stored. */
const MOST_STEPS = 256;
const MOST_CHARACTERS = 65_536;

const STEP = /\.([^.[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/gy;

/** The names and indices of a path such as `$.orders[0].note` or `$['orders'][0]`; null where it is none, or has too many. */
function stepsOf(path: string): (string | number)[] | null {
  if (path.length > MOST_CHARACTERS) return null;
  const steps: (string | number)[] = [];
  let end = 1;
  STEP.lastIndex = end;
  for (let step = STEP.exec(path); step !== null && steps.length <= MOST_STEPS; step = STEP.exec(path)) {
    const [, name, index, ...quoted] = step;
    steps.push(
      index === undefined ? (name ?? unescaped(quoted.find((one) => one !== undefined) ?? '')) : Number(index),
    );
    end = STEP.lastIndex;
  }
  return path[0] === '$' && end === path.length && steps.length > 0 && steps.length <= MOST_STEPS ? steps : null;
}

const ESCAPES: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

const unescaped = (quoted: string): string =>
  quoted.replace(/\\(u[\da-f]{4}|.)/gis, (_, code: string) =>
    code.length > 1 ? String.fromCharCode(Number.parseInt(code.slice(1), 16)) : (ESCAPES[code] ?? code),
  );

type Container = Fields | unknown[];
const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

/** Sets the value at a path, or adds it to the text there; what is on the way is made. */
function put(args: Fields, steps: readonly (string | number)[], value: unknown, goesOn: boolean): void {
  let within: Container = args;
  for (const [i, step] of steps.entries()) {
    const known = memberOf(within, step);
    const isLast = i === steps.length - 1;
    const made = isLast ? value : typeof steps[i + 1] === 'number' ? [] : {};
    const added = isLast && goesOn && typeof known === 'string' && typeof value === 'string' ? known + value : made;
    if (!isLast && isContainer(known)) within = known;
    else if (!setMember(within, step, added)) return;
    else if (isContainer(added)) within = added;
  }
}

const memberOf = (within: Container, step: string | number): unknown =>
  Object.hasOwn(within, step) ? (within as Record<string | number, unknown>)[step] : undefined;

/** Defined, not assigned: a model may name a member `__proto__`. An index beyond the next would make an array of any length: false. */
function setMember(within: Container, step: string | number, value: unknown): boolean {
  if (Array.isArray(within) && (typeof step !== 'number' || step > within.length)) return false;
  return Reflect.defineProperty(within, step, { value, writable: true, enumerable: true, configurable: true });
}
