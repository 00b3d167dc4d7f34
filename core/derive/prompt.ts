/** Prompts: a person's words, separated from what a harness wraps around them. */
import { isHarnessSpeaking, UNWRAPPED_TAG, WRAPPERS, withoutPreamble } from '../harness/harnesses.ts';
import type { ContentBlock } from '../model/content-block.ts';
import type { CallTurn, FreshMessage } from './turn.ts';

const PREVIEW_BYTES = 280;

/** The fresh messages that a person wrote: role user, not injected, no tool result, and something left without wrappers. */
export const genuinePrompts = (turn: CallTurn): FreshMessage[] => {
  const lastAnswer = turn.fresh.findLastIndex((message) => message.role === 'assistant');
  return turn.fresh.slice(lastAnswer + 1).filter(isGenuine); // before it: history that a resumed session brings along
};

/** The last prompt of a person; without one the text of the last fresh message of role user, unless the harness wrote it. */
export function promptOf(turn: CallTurn): string {
  const prompt =
    genuinePrompts(turn).at(-1) ?? turn.fresh.findLast(({ role, injected }) => role === 'user' && injected === '');
  const words = prompt ? promptText(prompt.content) : '';
  return isHarnessSpeaking(words) ? '' : words;
}

/** A message's text without what the harness added; blocks are joined by a newline. */
export const promptText = (content: readonly ContentBlock[]): string =>
  withoutPreamble(withoutWrappers(textOf(content)).replace(UNWRAPPED_TAG, '').trim()).trim();

/** All text of some blocks, joined by newlines. */
export const textOf = (content: readonly ContentBlock[]): string =>
  content
    .filter((block) => block.type === 'text' && block.text !== undefined && block.text !== '')
    .map((block) => block.text)
    .join('\n');

/** The text, cut to at most 280 bytes of UTF-8. */
export const preview = (text: string): string => cutBytes(text, PREVIEW_BYTES);

/** The text, cut to at most so many bytes of UTF-8, where a character ends. */
export function cutBytes(text: string, most: number): string {
  const head = text.slice(0, most); // a UTF-16 unit is at least one byte
  if (Buffer.byteLength(head) <= most) return head.length === text.length ? head : wellCut(head);
  let bytes = 0;
  let end = 0;
  for (const character of head) {
    bytes += Buffer.byteLength(character);
    if (bytes > most) break;
    end += character.length;
  }
  return wellCut(head.slice(0, end));
}

const isGenuine = ({ role, content, injected }: FreshMessage) =>
  role === 'user' &&
  injected === '' &&
  content.every((block) => block.type !== 'tool_result') &&
  (content.some((block) => block.type !== 'text') || isSpoken(promptText(content)));

/** Whether a block of a message holds a person's words: not the system's, nor a harness's alone. */
export const isSpokenIn = ({ role, injected }: FreshMessage, block: ContentBlock): boolean =>
  role === 'user' && injected === '' && block.type === 'text' && isSpoken(promptText([block]));

const isSpoken = (text: string) => text !== '' && !isHarnessSpeaking(text);

/** A cut between the halves of a surrogate pair would leave half a character. */
export const wellCut = (text: string) => (/[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text);

/**
 * Removes wrappers with their content. Attributes are allowed; an unclosed wrapper removes the rest, as it does in hashing.
 * Linear in the text: each tag is searched with indexOf, never with a pattern that can backtrack.
 */
function withoutWrappers(text: string): string {
  return text.includes('<') ? WRAPPERS.reduce(withoutTag, text) : text;
}

function withoutTag(text: string, tag: string): string {
  const chunks: string[] = [];
  let from = 0;
  for (;;) {
    const start = openingTag(text, tag, from);
    if (start < 0) return from === 0 ? text : chunks.concat(text.slice(from)).join('');
    chunks.push(text.slice(from, start));
    const close = text.indexOf(`</${tag}>`, start);
    if (close < 0) return chunks.join('');
    from = close + tag.length + 3;
  }
}

function openingTag(text: string, tag: string, from: number): number {
  for (let at = text.indexOf(`<${tag}`, from); at >= 0; at = text.indexOf(`<${tag}`, at + 1)) {
    const next = text.charAt(at + tag.length + 1);
    if (next === '>' || next === ' ' || next === '\n') return at;
  }
  return -1;
}
