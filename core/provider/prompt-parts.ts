/** Parts of prompts that several formats write alike: texts, pictures, tools. Nothing here throws, whatever a request holds. */
import type { BlockKind } from '../model/call-context.ts';
import { fields, isFields, text } from './json.ts';
import type { BlockPart } from './prompt-shape.ts';

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
