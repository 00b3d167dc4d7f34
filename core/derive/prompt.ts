/** What did the user say? Tells a person's words from what a harness wraps around them. (Reference section 4.5.) */
import type { ContentBlock } from '../model/content-block.ts';
import type { CallTurn, FreshMessage } from './turn.ts';

const PREVIEW_BYTES = 280;

/** Removed with all they hold. Attributes are allowed; an unclosed one swallows the rest, as it does in hashing. */
const WRAPPERS = [
  'system-reminder',
  'command-name',
  'command-message',
  'command-contents',
  'local-command-stdout',
  'local-command-stderr',
  'local-command-caveat',
  'new-diagnostics',
  'task-notification',
  'subagent_notification',
  'environment_context',
  'user_instructions',
  'skills_instructions',
  'permissions',
  'user_claude_md',
  'user-prompt-submit-hook',
  'ide_opened_file',
  'ide_selection',
];
/** Only the tags go; what they hold was said by the user. */
const UNWRAPPED = /<\/?(?:session|conversation|command-args)>/g;
const PLUGIN_LINK = /^\[@[^\]\n]*\]\(plugin:\/\/[^)\n]*\)/;

/** The fresh messages in which a person speaks: role user, not injected, no tool result, and something left without wrappers. */
export const genuinePrompts = (turn: CallTurn): FreshMessage[] => {
  const answered = turn.fresh.findLastIndex((message) => message.role === 'assistant');
  return turn.fresh.slice(answered + 1).filter(isGenuine); // before it: history that a resumed session brings along
};

/** A message's words without what the harness added; blocks are joined by a newline. */
export const promptText = (content: readonly ContentBlock[]): string =>
  withoutWrappers(textOf(content)).replace(UNWRAPPED, '').trim().replace(PLUGIN_LINK, '').trim();

/** All text of some blocks, joined by newlines. */
export const textOf = (content: readonly ContentBlock[]): string =>
  content
    .filter((block) => block.type === 'text' && block.text !== undefined && block.text !== '')
    .map((block) => block.text)
    .join('\n');

/** At most 280 bytes of UTF-8, cut where a character ends. */
export function preview(text: string): string {
  const head = text.slice(0, PREVIEW_BYTES); // a UTF-16 unit is at least one byte
  if (Buffer.byteLength(head) <= PREVIEW_BYTES) return head.length === text.length ? head : wellCut(head);
  let bytes = 0;
  let end = 0;
  for (const character of head) {
    bytes += Buffer.byteLength(character);
    if (bytes > PREVIEW_BYTES) break;
    end += character.length;
  }
  return wellCut(head.slice(0, end));
}

const isGenuine = ({ role, content, injected }: FreshMessage) =>
  role === 'user' &&
  injected === '' &&
  content.every((block) => block.type !== 'tool_result') &&
  (content.some((block) => block.type !== 'text') || promptText(content) !== '');

/** A cut between the halves of a surrogate pair would leave half a character. */
const wellCut = (text: string) => (/[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text);

/** Linear in the text: each tag is looked for with indexOf, never with a pattern that can backtrack. */
function withoutWrappers(text: string): string {
  return text.includes('<') ? WRAPPERS.reduce(withoutTag, text) : text;
}

function withoutTag(text: string, tag: string): string {
  const kept: string[] = [];
  let from = 0;
  for (;;) {
    const start = openingTag(text, tag, from);
    if (start < 0) return from === 0 ? text : kept.concat(text.slice(from)).join('');
    kept.push(text.slice(from, start));
    const close = text.indexOf(`</${tag}>`, start);
    if (close < 0) return kept.join('');
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
