/** The shape of a prompt in the requests of a wire format: which members of the body the model reads, in cache order, and the blocks in each. */
import type { PromptSection } from '../model/cache-break.ts';
import type { BlockKind } from '../model/call-context.ts';
import { type Fields, fields, isFields, text } from './json.ts';

/** One block of a prompt, within an element of an array or a member of the body. */
export type BlockPart = {
  at: readonly (string | number)[]; // the keys and places that lead to it; empty: the whole value
  role: string;
  kind: BlockKind;
  name: string; // '' for none: then its text labels it
  text: string | null;
  call_id: string; // of a tool's call or result; '' for all else
  pictures: readonly string[]; // in base64; '' for one that is only named by its address
};

export type PromptMember = {
  key: string; // top-level
  section: PromptSection;
  inOne?: true; // though it is an array, it has no elements of its own
  /** The blocks of an element, where the member is an array, else of the member itself. Whatever the value holds, nothing is thrown. */
  parts(value: unknown): BlockPart[];
};

export type PromptShape = {
  /** In the order in which the provider caches them. */
  members: readonly PromptMember[];
  /** Dotted paths of what a request sets besides. `keyed`: those that the provider names as part of the cache's key. */
  parameters: { keyed: readonly string[]; others: readonly string[] };
  /** Request headers of the same kind. */
  keyedHeaders: readonly string[];
  /** The form of a text that may also stand as a plain string: both are one block. */
  textPart(text: string, role: string): Fields;
  /** Cache marks of clients, which are no part of a block. */
  marks: readonly string[];
  /** Whether the provider may hold messages that a request only continues. */
  holds: boolean;
  /** The tokens of a picture, as the provider publishes them. */
  pictureTokens(size: PictureSize): number;
};

export type PictureSize = { width: number; height: number };

type Named = Partial<Pick<BlockPart, 'name' | 'text' | 'call_id' | 'pictures'>>;

export const blockPart = (
  at: BlockPart['at'],
  role: string,
  kind: BlockKind,
  { name = '', text = null, call_id = '', pictures = [] }: Named = {},
): BlockPart => ({ at, role, kind, name, text, call_id, pictures });

/** What a text is, by the role that speaks it. */
export const kindOfRole = (role: string): BlockKind => ROLE_KINDS[role.toLowerCase()] ?? 'other';

const ROLE_KINDS: Record<string, BlockKind> = {
  system: 'instructions',
  developer: 'instructions',
  user: 'user',
  '': 'user',
  assistant: 'assistant',
  model: 'assistant',
  tool: 'tool-result',
  function: 'tool-result',
};

/** A member or element that is one text, or one value of which nothing is known. Nothing for an empty text. */
export function wholeText(value: unknown, role: string, kind: BlockKind, at: BlockPart['at'] = []): BlockPart[] {
  if (value === null || value === undefined || value === '') return [];
  if (typeof value === 'string') return [blockPart(at, role, kind, { text: value })];
  return [blockPart(at, role, kind, { text: textIn(value) })];
}

/** The text of a value: itself, its `text`, or those of its elements, a line for each; null: it has none. */
export function textIn(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (isFields(value)) return typeof value.text === 'string' ? value.text : null;
  if (!Array.isArray(value)) return null;
  const lines = value.flatMap((piece) => textIn(piece) ?? []);
  return lines.length > 0 ? lines.join('\n') : null;
}

/** The base64 of a data URL; '' for another address; null: it is no text. */
export function pictureAt(url: unknown): string | null {
  if (typeof url !== 'string') return null;
  return /^data:[^,]{0,300};base64,/i.test(url) ? url.slice(url.indexOf(',') + 1) : '';
}

/** A tool as OpenAI's formats declare it, and those that follow them: by itself, or under the name of its kind. */
export const declaredTool = (tool: unknown): BlockPart[] => {
  const declared = fields(tool);
  const kind = text(declared.type);
  const inner = fields(declared[kind]);
  const name = text(inner.name) || text(declared.name) || text(declared.server_label) || kind;
  return [
    blockPart([], '', 'tool-definition', { name, text: text(inner.description ?? declared.description) || null }),
  ];
};
