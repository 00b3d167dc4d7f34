/** The blocks of an Ollama message: the same in a request as in an answer, so that an answer that is sent back is the same. */
import { withoutCacheControl } from '../merkle/projection.ts';
import type { ContentBlock } from '../model/content-block.ts';
import { type Fields, fields, text, toolInput } from './json.ts';

/** The blocks of a message's `thinking`, `content`, `images` and `tool_calls`, each only when it is not empty. */
export function contentOf(raw: Fields): ContentBlock[] {
  const calls = Array.isArray(raw.tool_calls) ? raw.tool_calls.map((call) => toolUse(fields(call))) : [];
  return [
    ...(text(raw.thinking) === '' ? [] : [{ type: 'thinking', thinking: text(raw.thinking) }]),
    ...(text(raw.content) === '' ? [] : [{ type: 'text', text: text(raw.content) }]),
    ...imagesIn(raw.images),
    ...calls,
  ];
}

/** An image block for each of `images`; one that is no text is passed on whole rather than refused. */
const imagesIn = (images: unknown): ContentBlock[] =>
  Array.isArray(images)
    ? images.map((raw) => (typeof raw === 'string' ? image(raw) : { type: 'image', content: withoutCacheControl(raw) }))
    : [];

/** Ollama takes bare base64; what its clients leave in front of it, as in a data URL, is not part of the image. */
function image(raw: string): ContentBlock {
  const head = /^data:([^;,]*)(?:;[^,]{0,199})?;base64,/i.exec(raw.slice(0, 400));
  const base64 = head ? raw.slice(head[0].length) : raw;
  const mediaType = mediaTypeOf(base64) || (head?.[1] ?? '');
  return { type: 'image', ...(mediaType !== '' && { media_type: mediaType }), image_base64: base64 };
}

const openings: readonly (readonly [opening: RegExp, mediaType: string])[] = [
  [/^\x89PNG/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
];

/** The media type, recognised by the image's first bytes, since Ollama's clients do not send it; '' when they are none of these. */
function mediaTypeOf(base64: string): string {
  const opening = Buffer.from(base64.slice(0, 16), 'base64').toString('latin1');
  return openings.find(([known]) => known.test(opening))?.[1] ?? '';
}

/** A call without an id gets its function's name as id, since its result refers to it by that name. */
function toolUse(call: Fields): ContentBlock {
  const called = fields(call.function);
  const input = called.arguments;
  return {
    type: 'tool_use',
    tool_use_id: text(call.id) || text(called.name),
    tool_name: text(called.name),
    tool_input: typeof input === 'string' ? toolInput(input) : (input ?? {}),
  };
}

/** The result in a message of role `tool`, under its call's id or else its function's name. */
export function toolResult(raw: Fields): ContentBlock {
  const images = imagesIn(raw.images);
  return {
    type: 'tool_result',
    tool_result_id: text(raw.tool_call_id) || text(raw.tool_name) || text(raw.name),
    ...(typeof raw.content === 'string' && { tool_output: raw.content }),
    ...(images.length > 0 && { content: images }),
  };
}
