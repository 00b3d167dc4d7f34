/**
 * The prompt in a request, put together from the pieces in which its body is stored. A piece that many requests share is read once: what
 * was read of it is kept with it.
 */
import { heldElements, referenceIn } from '../call/references.ts';
import { elementsOf } from '../capture/json-elements.ts';
import { membersOf, type ValueRange } from '../capture/json-members.ts';
import { afterSpace, bufferOf, CLOSE_BRACKET, COMMA } from '../capture/json-scan.ts';
import { skeletonOf as skeletonIn } from '../capture/slices.ts';
import type { PromptSection } from '../model/cache-break.ts';
import type { BlockKind } from '../model/call-context.ts';
import { type HeaderList, headerOf } from '../model/headers.ts';
import { isObject } from '../parse-json.ts';
import { Unreadable, type WireFormat } from '../provider/format.ts';
import type { PromptMember } from '../provider/prompt-shape.ts';
import type { PromptBlock, PromptParameter } from './prompt.ts';
import { type ReadBlock, readBlocks } from './read-blocks.ts';

/** A piece of a body with what was read of it. */
export type ReadPiece = {
  id: string;
  bytes: Uint8Array;
  read: Map<string, ReadBlock[]>; // by format and member
  built: { key: string; blocks: PromptBlock[] } | null; // at its latest place
  skeletons: Map<string, Skeleton | null>; // by the ids of all pieces between the elements; of the first of them
};

export const openPiece = (id: string, bytes: Uint8Array): ReadPiece => ({
  id,
  bytes,
  read: new Map(),
  built: null,
  skeletons: new Map(),
});

/** What a request holds itself: `fixed` are its tools and system prompt. */
export type RequestPrompt = {
  fixed: PromptBlock[];
  messages: PromptBlock[];
  parameters: PromptParameter[];
  refers: boolean; // a message stands for one that only the provider holds
};

type Request = {
  format: WireFormat;
  pieces: readonly ReadPiece[]; // of the whole body, without its content coding
  headers: HeaderList;
  url: string;
  continues: boolean; // the provider held what precedes its messages
  held_items?: readonly string[]; // of the answer that the request refers to: its messages up to there, and the answer, are left out
};

/** null: it is no JSON object, or what is in it is no JSON. */
export function requestPrompt({
  format,
  pieces,
  headers,
  url,
  continues,
  held_items = [],
}: Request): RequestPrompt | null {
  const { glue, sections } = sectionsOf(pieces);
  const skeleton = skeletonOf(glue);
  if (!skeleton) return null;
  try {
    const fixed: PromptBlock[] = [];
    const messages: PromptBlock[] = [];
    let refers = false;
    let opening = !continues;
    for (const member of format.prompt.members) {
      const value = skeleton.value[member.key];
      const cut = Array.isArray(value) && value.length === 0 ? sections.get(member.key) : undefined;
      const elements = cut ?? skeleton.elements(format, member);
      const held =
        held_items.length > 0 && member.key === format.messagesKey
          ? heldIn(format, member, elements, held_items)
          : null;
      for (const [index, piece] of elements.entries()) {
        const path = cut || (Array.isArray(value) && !member.inOne) ? `${member.key}[${index}]` : member.key;
        const read = readOf(format, member, piece);
        opening &&= member.section !== 'messages' || read.every(({ kind }) => OPENING.includes(kind));
        if (held?.[index] && !opening) continue;
        refers ||= member.key === format.messagesKey && referenceIn(format, piece.bytes) !== '';
        const section =
          member.section === 'messages' && opening ? openingSection(read, [fixed, messages]) : member.section;
        const into = member.section === 'messages' ? messages : fixed;
        for (const block of placed(piece, read, `${format.id} ${section} ${path}`, { section, path })) into.push(block);
      }
    }
    return { fixed, messages, parameters: parametersOf(format, skeleton.value, headers, url), refers };
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

const heldIn = (
  format: WireFormat,
  member: PromptMember,
  elements: readonly ReadPiece[],
  held_items: readonly string[],
): boolean[] | null =>
  heldElements(
    {
      references: elements.map(({ bytes }) => referenceIn(format, bytes)),
      isAnswer: (at) => {
        const piece = elements[at];
        return piece !== undefined && readOf(format, member, piece).every(({ role }) => role === 'assistant');
      },
    },
    held_items,
  );

/** What stands before the first message is the system prompt in the formats that have no other place for it, and so are tools. */
const OPENING: readonly BlockKind[] = ['instructions', 'tool-definition'];

const openingSection = (read: readonly ReadBlock[], before: readonly PromptBlock[][]): PromptSection =>
  read.every(({ kind }) => kind === 'tool-definition') && before.flat().every(({ section }) => section === 'tools')
    ? 'tools'
    : 'system';

/** The pieces between the elements, and the elements by the key of their array. */
function sectionsOf(pieces: readonly ReadPiece[]): { glue: ReadPiece[]; sections: Map<string, ReadPiece[]> } {
  const glue: ReadPiece[] = [];
  const sections = new Map<string, ReadPiece[]>();
  let open: ReadPiece[] | null = null;
  for (const piece of pieces) {
    if (open && !closes(piece)) {
      open.push(piece);
      continue;
    }
    glue.push(piece);
    const key = keyOpenIn(piece);
    open = key === null ? null : [];
    if (key !== null && open) sections.set(key, open);
  }
  return { glue, sections };
}

const closes = ({ bytes }: ReadPiece): boolean => {
  const buffer = bufferOf(bytes);
  return buffer[afterSpace(buffer, 0)] === CLOSE_BRACKET;
};

/** The key of the array that is open where the piece ends. */
function keyOpenIn({ bytes }: ReadPiece): string | null {
  const end = bufferOf(bytes.subarray(Math.max(0, bytes.byteLength - 200))).toString('latin1');
  const beforeColon = end.endsWith('[') ? end.slice(0, -1).trimEnd() : '';
  const named = beforeColon.endsWith(':') ? beforeColon.slice(0, -1).trimEnd() : '';
  if (!named.endsWith('"')) return null;
  const key = named.slice(named.lastIndexOf('"', named.length - 2) + 1, -1); // none of the keys has a quotation mark in it
  try {
    return JSON.parse(`"${key}"`) as string;
  } catch {
    return null;
  }
}

/** What lies between the elements, parsed: the body with its cut arrays empty. */
type Skeleton = {
  value: Record<string, unknown>;
  /** The values of a member, each as a piece: the elements of an array, else the member itself. None where it is absent. */
  elements(format: WireFormat, member: PromptMember): ReadPiece[];
};

const MOST_SKELETONS = 8; // per piece: the members behind the messages hardly ever change

function skeletonOf(glue: readonly ReadPiece[]): Skeleton | null {
  const [first] = glue;
  if (!first) return null;
  const key = glue.map(({ id }) => id).join();
  const known = first.skeletons.get(key);
  if (known !== undefined) return known;
  const skeleton = openSkeleton(glue.length === 1 ? first.bytes : Buffer.concat(glue.map(({ bytes }) => bytes)));
  if (first.skeletons.size >= MOST_SKELETONS) first.skeletons.clear();
  first.skeletons.set(key, skeleton);
  return skeleton;
}

function openSkeleton(bytes: Uint8Array): Skeleton | null {
  const value = parsed(bytes);
  const members = value && membersOf(bytes);
  if (!members) return null;
  const known = new Map<string, ReadPiece[]>();
  const pieceOf = ({ start, end }: ValueRange) => openPiece('', bytes.subarray(start, end));
  return {
    value,
    elements(format, member) {
      const found = known.get(`${format.id} ${member.key}`);
      if (found) return found;
      const range = members.get(member.key);
      const isList = Array.isArray(value[member.key]) && !member.inOne;
      const pieces = range ? (isList ? [...elementsOf(bytes, range)] : [range]).map(pieceOf) : [];
      known.set(`${format.id} ${member.key}`, pieces);
      return pieces;
    },
  };
}

function parsed(bytes: Uint8Array): Record<string, unknown> | null {
  try {
    return skeletonIn(bytes, [{ section: null, start: 0, end: bytes.byteLength }]);
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

function readOf(format: WireFormat, member: PromptMember, piece: ReadPiece): ReadBlock[] {
  const key = `${format.id} ${member.key}`;
  const known = piece.read.get(key);
  if (known) return known;
  const read = readBlocks(format.prompt, member, elementIn(piece.bytes));
  piece.read.set(key, read);
  return read;
}

/** An element's bytes without the comma and the white space before it. */
function elementIn(bytes: Uint8Array): Uint8Array {
  const buffer = bufferOf(bytes);
  let at = afterSpace(buffer, 0);
  if (buffer[at] === COMMA) at = afterSpace(buffer, at + 1);
  return at === 0 ? bytes : bytes.subarray(at);
}

/** Mostly a piece comes back at the same place: then its blocks are the same objects. */
function placed(
  piece: ReadPiece,
  read: readonly ReadBlock[],
  key: string,
  { section, path }: Pick<PromptBlock, 'section' | 'path'>,
): readonly PromptBlock[] {
  if (piece.built?.key === key) return piece.built.blocks;
  const blocks = read.map((block) => placedBlock(block, section, path));
  piece.built = { key, blocks };
  return blocks;
}

/** One literal: with a rest parameter each block would have a hidden class of its own, and V8 describes one in a kilobyte. */
const placedBlock = (block: ReadBlock, section: PromptSection, path: string): PromptBlock => ({
  id: block.id,
  section,
  path: `${path}${block.suffix}`,
  role: block.role,
  kind: block.kind,
  call_id: block.call_id,
  label: block.label,
  bytes: block.bytes,
  pixels: block.pixels,
  picture_bytes: block.picture_bytes,
  picture_tokens: block.picture_tokens,
  mark: block.mark,
  raw: block.raw,
  json: block.json,
  text: block.text,
});

function parametersOf(
  { prompt, headInPath }: WireFormat,
  skeleton: Record<string, unknown>,
  headers: HeaderList,
  url: string,
): PromptParameter[] {
  const { parameters, keyedHeaders } = prompt;
  const inBody = (paths: readonly string[], keyed: boolean) =>
    paths.flatMap((path): PromptParameter[] => {
      const value = path.split('.').reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), skeleton);
      return value === undefined ? [] : [{ name: path, value: JSON.stringify(value), keyed }];
    });
  const model = headInPath?.(url).model;
  return [
    ...(model === undefined ? [] : [{ name: 'model', value: JSON.stringify(model), keyed: true }]),
    ...inBody(parameters.keyed, true).filter(({ name }) => name !== 'model' || model === undefined),
    ...keyedHeaders.flatMap((name): PromptParameter[] => {
      const value = headerOf(headers, name);
      return value === null ? [] : [{ name, value: JSON.stringify(value), keyed: true }];
    }),
    ...inBody(parameters.others, false),
  ];
}
