/** Previews of spans: their texts are shortened, so that many fit into one answer. */
import type { ContentBlock } from '../../model/content-block.ts';
import type { Payload } from '../../model/page.ts';
import type { Span } from '../../model/span.ts';
import { isObject } from '../../parse-json.ts';
import { type SpanColumns, toSpan } from '../columns/span.ts';

/** A row as a span, whole or shortened. */
export function shownSpan(row: SpanColumns, payload: Payload): Span {
  const span = toSpan(row);
  if (payload !== 'preview') return span;
  return { ...span, input: span.input.map(blockPreview), output: span.output.map(blockPreview), payload };
}

const PREVIEW_CHARACTERS = 512;

/** A block with every string cut after 512 characters, and without the bytes of an image. */
const blockPreview = (block: ContentBlock): ContentBlock => {
  const cut = shortened(block) as ContentBlock;
  return block.image_base64 === undefined ? cut : { ...cut, image_base64: '' };
};

const shortened = (value: unknown): unknown => {
  if (typeof value === 'string') return cutAt(value, PREVIEW_CHARACTERS);
  if (Array.isArray(value)) return value.map(shortened);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shortened(member)]));
};

/** Whole characters, so that no surrogate pair is split. */
const cutAt = (text: string, characters: number): string => {
  if (text.length <= characters) return text;
  const start = Array.from(text.slice(0, characters * 2))
    .slice(0, characters)
    .join('');
  return start.length < text.length ? `${start}…` : text;
};
