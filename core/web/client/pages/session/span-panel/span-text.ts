/** The text of a span's blocks: as it is copied, and as Markdown. */
import type { ContentBlock } from '../../../../../model/content-block.ts';
import type { Span } from '../../../../../model/span.ts';

const inputText = (input: unknown): string =>
  typeof input === 'string' ? input : (JSON.stringify(input, null, 2) ?? '');

/** What a block holds, as text; '' where it holds none, such as an image. */
export function blockText(block: ContentBlock): string {
  if (block.text !== undefined) return block.text;
  if (block.thinking !== undefined) return block.thinking;
  if (block.tool_output !== undefined) return block.tool_output;
  if (block.tool_input !== undefined) return inputText(block.tool_input);
  return block.content === undefined ? '' : inputText(block.content);
}

/** The text of the first list that has any. */
export function blocksText(...lists: readonly (readonly ContentBlock[])[]): string {
  for (const blocks of lists) {
    const text = blocks
      .filter(({ thinking }) => thinking === undefined)
      .map(blockText)
      .filter((part) => part !== '')
      .join('\n\n');
    if (text !== '') return text;
  }
  return '';
}

/** A span as Markdown: its name, what went in and what came out. */
export function spanMarkdown({ kind, name, model, input, output }: Span): string {
  const title = kind === 'llm' ? model || name : name;
  const parts = [`### ${title.replace(/\s+/g, ' ')}`];
  if (input.length > 0) parts.push(`**${kind === 'tool' ? 'Input' : 'In'}**`, ...input.map(blockMarkdown));
  if (output.length > 0) parts.push(`**${kind === 'tool' ? 'Result' : 'Out'}**`, ...output.map(blockMarkdown));
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function blockMarkdown(block: ContentBlock): string {
  if (block.type === 'text') return block.text ?? '';
  if (block.image_url !== undefined || block.image_base64 !== undefined)
    return `*image, ${block.media_type ?? 'of unknown type'}*`;
  const text = blockText(block);
  const head = block.tool_name ? `\`${block.tool_name.replaceAll('`', "'")}\`\n` : '';
  return text === '' ? head : head + fenced(text, block.tool_input === undefined ? '' : 'json');
}

/** A fence longer than any in the text, so that none of it can end it. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([fence]) => fence.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
