/** The image of a URL. OpenAI's formats put images into the text as data URLs. */
import type { ContentBlock } from '../model/content-block.ts';

/** The bytes of a base64 data URL with their media type; any other URL as it is. */
export function imageAt(url: string): ContentBlock {
  const comma = url.indexOf(',');
  const head = comma < 0 ? '' : url.slice(0, comma);
  if (!/^data:[^,]*;base64$/i.test(head)) return { type: 'image', image_url: url };
  const mediaType = head.slice('data:'.length).split(';')[0] ?? '';
  return { type: 'image', media_type: mediaType, image_base64: url.slice(comma + 1) };
}
