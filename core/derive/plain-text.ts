/** The plain text of a call: what a person wrote and what the model answered, without what a harness wraps around it. For search. */
import { UNWRAPPED_TAG, WRAPPERS } from '../harness/harnesses.ts';
import type { SpanRow } from './changes.ts';
import { textOf, wellCut } from './prompt.ts';

/** Of the whole, in UTF-16 units. A longer text is cut to it, less at most two halves of characters and the newline between. */
export const LONGEST_PLAIN_TEXT = 524_288;

type Call = Pick<SpanRow, 'call_kind' | 'inherited_from' | 'input' | 'said_blocks' | 'output' | 'error_message'>;

/**
 * A person's words, the answer, and the provider's message where the call failed, each on lines of its own. null: the call is not of
 * the conversation, or counts in another session, which has the text. Where both parts are too long, each has one half.
 */
export function plainText({
  call_kind,
  inherited_from,
  input,
  said_blocks,
  output,
  error_message,
}: Call): string | null {
  if (call_kind !== 'main' || inherited_from !== null) return null;
  const prompts = said_blocks.flatMap((index) => input[index] ?? []);
  const words = withoutWrapped(textOf(prompts)).replace(UNWRAPPED_TAG, ' ').trim();
  const answered = joined(textOf(output).trim(), error_message.trim());
  const question = cut(words, Math.max(LONGEST_PLAIN_TEXT / 2, LONGEST_PLAIN_TEXT - answered.length - 1));
  return joined(question, cut(answered, LONGEST_PLAIN_TEXT - question.length - 1));
}

const joined = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n');

const cut = (text: string, most: number): string => (text.length <= most ? text : wellCut(text.slice(0, most)));

const NAMES = WRAPPERS.join('|');
const TAG = new RegExp(`<(?:(?<opened>${NAMES})\\b[^<>]*|/(?<closed>${NAMES}))>`, 'gi');

/**
 * Removes wrapped text. Unlike in a prompt, a tag that is never closed counts as text: here it is better to have too much. One pass
 * over the tags: searching the end of each would be quadratic.
 */
function withoutWrapped(text: string): string {
  const tags = [...text.matchAll(TAG)].map(({ 0: tag, index, groups }) => ({
    ...{ begin: index, end: index + tag.length },
    ...{ opened: groups?.opened?.toLowerCase(), closed: groups?.closed?.toLowerCase() },
  }));
  const lastEnd = new Map(tags.flatMap(({ closed, begin }) => (closed ? [[closed, begin] as const] : [])));
  const pieces: string[] = [];
  let at = 0;
  let within: string | undefined;
  for (const { begin, end, opened, closed } of tags) {
    if (within === undefined && opened !== undefined && (lastEnd.get(opened) ?? -1) > begin) {
      pieces.push(text.slice(at, begin));
      within = opened;
    } else if (within !== undefined && closed === within) {
      at = end;
      within = undefined;
    }
  }
  return pieces.length === 0 ? text : [...pieces, text.slice(at)].join(' ');
}
