/** The image that a block of a prompt holds in itself, wherever the format of its provider has it. */

export type InlineImage = { base64: string; type: string };

/** null: the block holds none; one that is elsewhere is only named by it. @param json as the request has it */
export function inlineImage(json: unknown): InlineImage | null {
  if (typeof json === 'string') return ofDataUrl(json) ?? { base64: json, type: '' };
  const block = members(json);
  const { image_url, image_base64, media_type } = block;
  if (typeof image_base64 === 'string') return { base64: image_base64, type: text(media_type) };
  for (const holder of [block.source, block.inlineData, block.inline_data].map(members))
    if (typeof holder.data === 'string')
      return { base64: holder.data, type: text(holder.media_type ?? holder.mimeType ?? holder.mime_type) };
  return ofDataUrl(text(typeof image_url === 'string' ? image_url : members(image_url).url));
}

/** null: it is another URL. */
function ofDataUrl(url: string): InlineImage | null {
  const comma = url.indexOf(',');
  const head = url.slice(0, Math.max(0, comma)).toLowerCase();
  if (!head.startsWith('data:') || !head.endsWith(';base64')) return null;
  return { base64: url.slice(comma + 1), type: head.slice('data:'.length).split(';')[0] ?? '' };
}

const members = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
