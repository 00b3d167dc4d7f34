/** The blocks of a recorded message as things to show; whatever is not known is shown with its type, so nothing disappears. */
import type { ContentBlock } from '../../../../../model/content-block.ts';

type Shown =
  | { kind: 'text'; type: string; text: string }
  | { kind: 'thinking'; text: string; hidden: number } // hidden: the length of what the provider sent encrypted
  | { kind: 'image'; base64: string; url: string; type: string }
  | { kind: 'unknown'; type: string; value: unknown };
/** `at` is the place of its recorded block in the input or output of the span. */
export type ShownBlock = Shown & { at: number };

/** Strings of a preview that are longer than this may have been cut. */
const PREVIEW = 512;

/** What a call's answer shows itself: its tools, and the results that the provider has of them, are steps of their own. */
export function answerBlocks(blocks: readonly ContentBlock[]): ShownBlock[] {
  const requested = new Set(blocks.flatMap((block) => callId(block) || []));
  return blocks.flatMap((block, at) => {
    if (callId(block) !== null) return [];
    return requested.has(block.tool_result_id ?? '') ? [] : shownBlocks(block, at);
  });
}

/** The id of the call in a block; '' for none, null: it is no call. Calls of Anthropic's MCP connector are held whole. */
function callId({ type, tool_use_id = '', content }: ContentBlock): string | null {
  if (type === 'tool_use' || type === 'server_tool_use') return tool_use_id;
  return type === 'mcp_tool_use' && isRecord(content) ? text(content.id) : null;
}

/** @param at its place; called by `flatMap`, which passes it */
export const shownBlocks = (block: ContentBlock, at: number): ShownBlock[] =>
  shownParts(block).map((shown) => ({ ...shown, at }));

function shownParts(block: ContentBlock): Shown[] {
  const { type, text, thinking, image_base64, image_url, tool_output, content } = block;
  if (image_base64 !== undefined || image_url !== undefined)
    return [{ kind: 'image', base64: image_base64 ?? '', url: image_url ?? '', type: block.media_type ?? '' }];
  if (thinking !== undefined)
    return [{ kind: 'thinking', text: thinking, hidden: thinking === '' ? hiddenLength(block) : 0 }];
  if (type === 'redacted_thinking') return [{ kind: 'thinking', text: '', hidden: hiddenLength(block) }];
  const texts = [text, tool_output].filter((one) => one !== undefined && one !== '');
  const shown = texts.map((one): Shown => ({ kind: 'text', type, text: one ?? '' }));
  if (content === undefined)
    return shown.length > 0 || text !== undefined || type.endsWith('tool_result') ? shown : [unknown(block)];
  return [...shown, ...contentBlocks(type, content)];
}

/** What a result holds besides its text, in the words of the providers. */
function contentBlocks(type: string, content: unknown): Shown[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', type, text: content }];
  if (!Array.isArray(content)) return [{ kind: 'unknown', type, value: content }];
  return content.map(
    (part: unknown) => imageIn(part) ?? textIn(part) ?? { kind: 'unknown', type: typeOf(part, type), value: part },
  );
}

function imageIn(part: unknown): Shown | null {
  if (!isRecord(part)) return null;
  if (typeof part.image_base64 === 'string' || typeof part.image_url === 'string')
    return { kind: 'image', base64: text(part.image_base64), url: text(part.image_url), type: text(part.media_type) };
  const { source } = part;
  if (part.type !== 'image' || !isRecord(source)) return null;
  return { kind: 'image', base64: text(source.data), url: text(source.url), type: text(source.media_type) };
}

const textIn = (part: unknown): Shown | null =>
  isRecord(part) && part.type === 'text' && typeof part.text === 'string' && part.text !== ''
    ? { kind: 'text', type: 'text', text: part.text }
    : null;

const typeOf = (part: unknown, otherwise: string): string =>
  isRecord(part) && typeof part.type === 'string' ? part.type : otherwise;

function unknown({ type, ...rest }: ContentBlock): Shown {
  return { kind: 'unknown', type, value: rest };
}

const hiddenLength = ({ thinking_signature, content }: ContentBlock): number =>
  thinking_signature?.length ?? (isRecord(content) && typeof content.data === 'string' ? content.data.length : 0);

/** Whether a block of a preview may lack some of its text, so that the whole has to be read to show it. */
export function isCut(block: Shown): boolean {
  switch (block.kind) {
    case 'text':
    case 'thinking':
      return block.text.length > PREVIEW;
    case 'image':
      return block.url === '';
    case 'unknown':
      return hasLongText(block.value);
  }
}

/** Whether a text somewhere in a value may have been cut. */
function hasLongText(value: unknown): boolean {
  const rest = [value];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next === 'string' && next.length > PREVIEW) return true;
    if (typeof next === 'object' && next !== null) for (const member of Object.values(next)) rest.push(member ?? '');
  }
  return false;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
