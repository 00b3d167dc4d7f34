/** The blocks of a step as text: calls as JSON, pictures as a note of what they were. */
import type { ContentBlock } from '../../model/content-block.ts';
import { toolCallIn } from '../../model/tool-call.ts';

/** @param whole false: thinking is left out, and so are the arguments of calls, which are steps of their own */
export const blocksText = (blocks: readonly ContentBlock[], whole: boolean): string =>
  blocks
    .map((block) => blockText(block, whole))
    .filter((text) => text !== '')
    .join('\n');

const blockText = (block: ContentBlock, whole: boolean): string => {
  if (block.image_base64 !== undefined || block.image_url !== undefined) return pictureNote(block);
  const call = toolCallIn(block);
  if (call !== null)
    return whole
      ? `[calls ${call.tool_name ?? 'a tool'}] ${JSON.stringify(call.tool_input ?? {})}`
      : `[calls ${call.tool_name ?? 'a tool'}]`;
  switch (block.type) {
    case 'text':
      return block.text ?? '';
    case 'thinking':
      return whole ? `[thinking] ${block.thinking ?? ''}` : `[thinking, ${block.thinking?.length ?? 0} characters]`;
    case 'tool_result':
      return [block.is_error === true ? '[error]' : '', block.tool_output ?? '', contentText(block.content)]
        .filter((text) => text !== '')
        .join(' ');
    default:
      return [`[${block.type}]`, block.text ?? '', contentText(block.content)].filter((text) => text !== '').join(' ');
  }
};

const pictureNote = ({ image_base64, image_url, media_type }: ContentBlock): string => {
  const kind = media_type ?? 'image';
  if (image_base64 !== undefined) return `[picture, ${kind}, ${Math.round((image_base64.length * 3) / 4096)} KiB]`;
  return image_url?.startsWith('data:') === true ? `[picture, ${kind}]` : `[picture at ${image_url}]`;
};

/** What a block of an unknown kind holds, without the bytes of pictures. */
const contentText = (content: unknown): string => {
  if (content === undefined || content === null) return '';
  if (typeof content === 'string') return content;
  return JSON.stringify(content, (_key, value: unknown) =>
    typeof value === 'string' && value.length > 1_000 && /^(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/=\s]+$/.test(value)
      ? `[${value.length} characters of base64]`
      : value,
  );
};
