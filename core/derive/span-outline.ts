/** The outline of a span: what is shown of it before its payload is read. A label, and how much text and how many images it has. */
import { resultText } from '../harness/message-text.ts';
import { mainArgument } from '../harness/tool-argument.ts';
import type { ContentBlock } from '../model/content-block.ts';
import { isObject } from '../parse-json.ts';
import type { SpanPatch, SpanRow } from './changes.ts';
import { textOf } from './prompt.ts';

export type SpanOutline = {
  label: string;
  input_lines: number;
  input_characters: number;
  output_lines: number;
  output_characters: number;
  images: number;
};

type Outlined = Pick<SpanRow, 'kind' | 'input' | 'output' | 'description' | 'error_message'>;

/**
 * Characters are UTF-16 units. Of a call only what was written counts, neither thinking nor the calls of tools, which have spans of their
 * own; of a tool all texts in its input count.
 */
export function spanOutline(span: Outlined): SpanOutline {
  const { kind, input, output } = span;
  const [input_lines, input_characters] = extent(kind === 'tool' ? inputTexts(input) : textsOf(input));
  const [output_lines, output_characters] = extent(textsOf(output));
  return {
    label: label(span),
    ...{ input_lines, input_characters, output_lines, output_characters },
    images: imagesIn(kind === 'tool' ? [] : input) + imagesIn(output),
  };
}

/** What a patch changes of it: a tool's result, a sub-agent's description. */
export function patchedOutline({ output, description }: SpanPatch): Partial<SpanOutline> {
  const outline: Partial<SpanOutline> = description ? { label: oneLine(description) } : {};
  if (output === undefined) return outline;
  const [output_lines, output_characters] = extent(textsOf(output));
  return { ...outline, output_lines, output_characters, images: imagesIn(output) };
}

function label({ kind, input, output, description, error_message }: Outlined): string {
  switch (kind) {
    case 'agent':
      return oneLine(description);
    case 'tool':
      return oneLine(mainArgument(input[0]?.tool_input));
    case 'event':
      return oneLine(textOf(input));
    case 'llm':
      return oneLine(textOf(output)) || oneLine(error_message) || oneLine(thinkingIn(output));
  }
}

const LONGEST = 120;
const LOOKED_AT = 2_000;

/** The beginning of a text on one line, in whole characters. */
function oneLine(text: string): string {
  const begin = text.slice(0, LOOKED_AT).replace(/\s+/g, ' ').trim();
  return begin.length <= LONGEST ? begin : [...begin].slice(0, LONGEST).join('').trimEnd();
}

const thinkingIn = (blocks: readonly ContentBlock[]): string =>
  blocks.find(({ thinking }) => thinking !== undefined && thinking.trim() !== '')?.thinking?.trim() ?? '';

/** The texts of blocks that are shown as text: those that were written, and the results of tools. */
const textsOf = (blocks: readonly ContentBlock[]): string[] =>
  blocks.flatMap((block) => {
    if (block.type === 'text') return block.text ?? [];
    if (!block.type.endsWith('tool_result')) return [];
    const text = resultText(block);
    return text !== '' ? text : contentTexts(block.content);
  });

/** Results that no format read as text: a text, or a list of blocks as the provider has them. */
function contentTexts(content: unknown): string[] {
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part) => (isObject(part) && typeof part.text === 'string' ? part.text : []));
}

const inputTexts = (input: readonly ContentBlock[]): string[] => {
  const texts: string[] = [];
  const rest: unknown[] = input.map(({ tool_input }) => tool_input);
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value === 'string') texts.push(value);
    else if (value !== null && typeof value === 'object') for (const member of Object.values(value)) rest.push(member);
  }
  return texts;
};

/** Lines and characters. A line break at the end of a text begins no line. */
function extent(texts: readonly string[]): [lines: number, characters: number] {
  let lines = 0;
  let characters = 0;
  for (const text of texts) {
    if (text === '') continue;
    characters += text.length;
    lines += 1;
    for (let at = text.indexOf('\n'); at >= 0 && at < text.length - 1; at = text.indexOf('\n', at + 1)) lines += 1;
  }
  return [lines, characters];
}

const imagesIn = (blocks: readonly ContentBlock[]): number =>
  blocks.reduce((count, block) => count + (isImage(block) ? 1 : imagesInContent(block.content)), 0);

const isImage = ({ type, image_url, image_base64 }: ContentBlock): boolean =>
  type === 'image' || image_url !== undefined || image_base64 !== undefined;

/** Images in what a tool delivered, in the words of the providers. */
const imagesInContent = (content: unknown): number =>
  Array.isArray(content)
    ? content.filter((part) => isObject(part) && typeof part.type === 'string' && IMAGES.has(part.type)).length
    : 0;

const IMAGES = new Set(['image', 'image_url', 'input_image']);
