/** The parts of a chat message's content, in one piece and as they grow in a stream: Mistral's models think and cite in parts. */
import { type Fields, fields, text } from './json.ts';

/** The words of a part `{type: 'thinking', thinking}`: a text, or parts with a text each. '': it is no such part, or has none. */
export function thoughtIn(part: Fields): string {
  if (part.type !== 'thinking') return '';
  const { thinking } = part;
  return Array.isArray(thinking) ? thinking.map((piece) => text(fields(piece).text)).join('') : text(thinking);
}

/** A content under way: `add` takes that of a delta, a text or a list of parts, and `whole` is what a call without streaming would have sent. */
export function growingContent() {
  const parts: Fields[] = [];
  /** Texts and thoughts come in pieces, one behind the other; of any other kind a part is whole. */
  const append = (type: 'text' | 'thinking', piece: string) => {
    if (piece === '') return;
    const last = parts.at(-1);
    if (last?.type === type) last[type] = text(last[type]) + piece;
    else parts.push({ type, [type]: piece });
  };
  return {
    add(content: unknown): void {
      for (const piece of Array.isArray(content) ? content : [content]) {
        const part = fields(piece);
        const words = typeof piece === 'string' ? piece : text(part.text); // whatever the type: some name it otherwise
        append('thinking', thoughtIn(part));
        append('text', words);
        if (words === '' && isWhole(part)) parts.push(part);
      }
    },
    /** Text alone is a text, as it is without streaming. */
    whole: (): unknown => (parts.length === 1 && parts[0]?.type === 'text' ? parts[0].text : parts),
  };
}

const isWhole = (part: Fields): boolean => typeof part.type === 'string' && !GROWING.has(part.type);

const GROWING = new Set(['text', 'thinking']);
