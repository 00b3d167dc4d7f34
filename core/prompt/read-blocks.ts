/** Reads the blocks in the JSON of a member of a request, or of an element of it, with the place of each in these bytes. */
import { elementsOf } from '../capture/json-elements.ts';
import { membersOf, type ValueRange } from '../capture/json-members.ts';
import { injectedKind, UNHASHED_TAGS } from '../harness/harnesses.ts';
import { canonicalJson } from '../merkle/canonical-json.ts';
import { projectedText, withoutCacheControl } from '../merkle/projection.ts';
import type { BlockKind } from '../model/call-context.ts';
import { isObject, parseJson } from '../parse-json.ts';
import type { BlockPart, PromptMember, PromptShape } from '../provider/prompt-shape.ts';
import { blockId } from './block-id.ts';
import { pictureSize } from './picture-size.ts';
import type { PromptBlock } from './prompt.ts';

/** A block without its place in the prompt. `suffix`: its path within the value. */
export type ReadBlock = Omit<PromptBlock, 'section' | 'path'> & { suffix: string };

const LABEL = 120;

/** A value's blocks, in order. @param bytes exactly the value's JSON. @throws {SyntaxError} it is no JSON */
export function readBlocks(shape: PromptShape, member: PromptMember, bytes: Uint8Array): ReadBlock[] {
  const value = parseJson(textOf(bytes));
  const rangeOf = rangesIn(bytes);
  return member
    .parts(value)
    .map((part, index) =>
      readBlock({ shape, member, bytes, index, range: rangeOf(part.at) }, part, valueAt(value, part.at)),
    );
}

type Place = { shape: PromptShape; member: PromptMember; bytes: Uint8Array; index: number; range: ValueRange };

/** What it returns lives long: it refers to the bytes, and to nothing that was parsed from them. */
function readBlock({ shape, member, bytes, index, range }: Place, part: BlockPart, value: unknown): ReadBlock {
  const { start, end } = range;
  const raw = () => bytes.subarray(start, end);
  return {
    id: blockId(identified(shape, part, value)),
    suffix: suffixOf(part.at),
    role: part.role,
    kind: member.section === 'messages' ? refined(part) : part.kind,
    call_id: Buffer.from(part.call_id).toString(),
    label: labelOf(part),
    bytes: end - start,
    ...picturesOf(shape, part),
    mark: markOf(value),
    raw,
    json: () => parseJson(textOf(raw())),
    text: () => member.parts(parseJson(textOf(bytes)))[index]?.text ?? null,
  };
}

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');

/** What the identity of a block is made of: a text that stands by itself is the same as one in an object of its own. */
function identified(shape: PromptShape, { role }: BlockPart, value: unknown): string {
  const part = typeof value === 'string' ? shape.textPart(value, role) : value;
  const unmarked = isObject(part)
    ? Object.fromEntries(Object.entries(part).filter(([key]) => !shape.marks.includes(key)))
    : part;
  return canonical(withoutCacheControl(unmarked));
}

function canonical(value: unknown): string {
  try {
    return canonicalJson(value);
  } catch {
    return canonicalJson(JSON.parse(JSON.stringify(value))); // a number that JSON.parse takes for infinite
  }
}

/** The range of each part's JSON: a container is scanned once, however many parts are in it. */
function rangesIn(bytes: Uint8Array): (at: BlockPart['at']) => ValueRange {
  const known = new Map<string, ValueRange[] | Map<string, ValueRange>>();
  const children = (path: string, range: ValueRange, key: string | number): ValueRange | undefined => {
    let found = known.get(path);
    if (!found) {
      found =
        typeof key === 'number'
          ? [...elementsOf(bytes, range)]
          : shifted(membersOf(bytes.subarray(range.start, range.end)) ?? new Map(), range.start);
      known.set(path, found);
    }
    return found instanceof Map ? found.get(String(key)) : found[Number(key)];
  };
  return (at) => {
    let range: ValueRange = { start: 0, end: bytes.byteLength };
    let path = '';
    for (const key of at) {
      const inner = children(path, range, key);
      if (!inner) return range;
      range = inner;
      path += `\0${key}`;
    }
    return range;
  };
}

const shifted = (members: Map<string, ValueRange>, by: number): Map<string, ValueRange> =>
  by === 0
    ? members
    : new Map([...members].map(([key, { start, end }]) => [key, { start: start + by, end: end + by }]));

const valueAt = (value: unknown, at: BlockPart['at']): unknown =>
  at.reduce<unknown>((inner, key) => (inner as Record<string | number, unknown> | null | undefined)?.[key], value);

const suffixOf = (at: BlockPart['at']): string =>
  at.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');

/** What a harness put among a person's words is known by how it begins, or by the tags around all of it. */
function refined({ kind, role, text }: BlockPart): BlockKind {
  if (kind !== 'user' || text === null) return kind;
  const isInjected =
    injectedKind({ role: role === 'system' ? 'system' : 'user', content: [{ type: 'text', text }] }) !== '' ||
    (text.trimStart().startsWith('<') && projectedText(text, UNHASHED_TAGS) === '');
  return isInjected ? 'injected' : kind;
}

/** Cut from a text of its own, since a slice would keep all of the long one in memory. */
function labelOf({ name, text, kind }: BlockPart): string {
  const words = (name || text || '').slice(0, LABEL);
  const whole = /[\ud800-\udbff]$/.test(words) ? words.slice(0, -1) : words;
  return Buffer.from(whole).toString() || kind;
}

function picturesOf({ pictureTokens }: PromptShape, { pictures }: BlockPart) {
  let [pixels, picture_bytes, picture_tokens] = [0, 0, 0];
  for (const base64 of pictures) {
    const size = pictureSize(base64);
    if (size) pixels += size.width * size.height;
    picture_bytes += base64.length;
    picture_tokens += pictureTokens(size ?? UNKNOWN_SIZE);
  }
  return { pixels, picture_bytes, picture_tokens };
}

/** Of a picture of which there is only an address, or that is in another format. */
const UNKNOWN_SIZE = { width: 1000, height: 1000 };

/** The cache mark on a block, or on something in it; the last one counts. */
function markOf(value: unknown): PromptBlock['mark'] {
  if (!isObject(value)) return null;
  if (isObject(value.cache_control)) return value.cache_control.ttl === '1h' ? '1h' : '5m';
  if (!Array.isArray(value.content)) return null;
  for (let i = value.content.length - 1; i >= 0; i--) {
    const inner = markOf(value.content[i]);
    if (inner) return inner;
  }
  return null;
}
