/** The text of a span that is embedded: what was said in it, without what a harness put in, in chunks that a model can take at once. */

/** The tags in which harnesses wrap their own words, inside of what a person wrote. */
const NAMES = [
  'system-reminder|environment_context|user_instructions|skills_instructions|permissions|multi_agent_mode',
  'recommended_plugins|subagent_notification|turn_aborted|user_shell_command|local-command-(?:stdout|stderr|caveat)',
  'command-(?:name|message|contents)|ide_(?:selection|opened_file)|bash-(?:input|stdout|stderr)|new-diagnostics',
  'task-notification|user_claude_md|user-prompt-submit-hook',
].join('|');
/** Only these tags are removed: the text in them was written by a person. */
const UNWRAPPED = /<\/?command-args>/g;
type SpanContent = { input: string; output: string; error_message?: string };

const TAG = new RegExp(`<(?:(?<opened>${NAMES})\\b[^<>]*|/(?<closed>${NAMES}))>`, 'gi');

/** Removes wrapped text. A tag that is never closed counts as text. One pass over the tags: searching the end of each would be quadratic. */
function withoutHarness(text: string): string {
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

/** The question, the answer, and the message of the provider where it failed. */
export const spanText = ({ input, output, error_message = '' }: SpanContent): string =>
  [withoutHarness(input).replace(UNWRAPPED, ' '), output, error_message]
    .map((text) =>
      text
        .replace(/[^\S\n]+/g, ' ')
        .replace(/ ?\n[ \n]*/g, '\n')
        .trim(),
    )
    .filter((text) => text !== '')
    .join('\n');

/** Chunks of at most `most` UTF-16 units, cut where a paragraph, a sentence or a word ends. */
export function chunksOf(text: string, most: number): string[] {
  const chunks: string[] = [];
  let rest = text;
  while (rest.length > most) {
    const at = cutIn(rest, most);
    chunks.push(rest.slice(0, at).trim());
    rest = rest.slice(at).trim();
  }
  return [...chunks, rest].filter((chunk) => chunk !== '');
}

/** The position of the cut: in the second half, as late as possible. */
function cutIn(text: string, most: number): number {
  const head = text.slice(0, most);
  for (const end of ['\n', '. ', ' ']) {
    const at = head.lastIndexOf(end);
    if (at >= most / 2) return at + end.length;
  }
  const last = head.charCodeAt(most - 1);
  return last >= 0xd800 && last <= 0xdbff ? most - 1 : most; // never between the halves of one character
}

const SNIPPET = 280;

/** The beginning of a chunk, cut between characters. */
export const snippetOf = (chunk: string): string => {
  const line = chunk.replace(/\s+/g, ' ');
  return line.length <= SNIPPET ? line : `${[...line.slice(0, 2 * SNIPPET)].slice(0, SNIPPET).join('')}…`;
};
