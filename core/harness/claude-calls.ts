/** Claude Code's calls beside the conversation: their kinds, the actions that they judge, and what their answers hold. */
import type { CallKind } from '../model/call-kind.ts';
import type { ContentBlock } from '../model/content-block.ts';
import { fields, isFields, parsed, text } from '../provider/json.ts';
import type { CallTraits, PermissionVerdict } from './harness.ts';
import { isProbe, textOf, wordsOf } from './message-text.ts';

/**
 * The kinds of calls: the first row that holds decides, and a call for which none holds is the conversation.
 *
 * | the call | kind |
 * | --- | --- |
 * | its system says "you are a security monitor"; at most 64 tokens, or its last message errs on the side of blocking | stage1 |
 * | the same otherwise | stage2 |
 * | at most 1 token, no tools (from any harness: `message-text.ts`) | probe |
 * | its last message begins with "[SUGGESTION MODE" | suggestion |
 * | no tools, its system shows `{"title"` | title-gen |
 * | no tools, its system holds "<conversation>" or its first message begins so | plan-name-gen |
 * | it answers `{"title": …}` or `{"name": …}` and no more | title-gen, plan-name-gen |
 * | its first message begins with "Web page content:" or "Perform a web search" | web-summary |
 * | its last message asks for a summary of the conversation so far, or its answer has the headings of one | compaction |
 *
 * When the harness is unknown, only what no person and no application would write counts: a monitor that is to answer with
 * `<block>`, the mark of a suggestion, the headings of a summary. A call that streams and has tools, as the conversation does, is
 * never one for a title, a plan's name or a page; a search has the provider's own tool and no other.
 */
export function callKind(call: CallTraits): CallKind | null {
  const own = call.harness_id === 'claude';
  if (!own && call.harness_id !== 'unknown') return null;
  const check = permissionCheck(call, own);
  if (check) return check;
  if (isProbe(call)) return 'offshoot:probe';
  if (wordsOf(call.last()).startsWith('[SUGGESTION MODE')) return 'offshoot:suggestion';
  const beside = own ? titleOrPlan(call) : null;
  if (beside) return beside;
  if (own && isWebSummary(call)) return 'offshoot:web-summary';
  return isCompaction(call, own) ? 'offshoot:compaction' : null;
}

const MONITOR = /you are a security monitor/i; // over a long prompt, at half the time of a copy in lower case

function permissionCheck(call: CallTraits, own: boolean): CallKind | null {
  const system = call.system();
  if (!MONITOR.test(system)) return null;
  if (!own && !system.toLowerCase().includes('<block>') && !wordsOf(call.last()).includes('<block>')) return null;
  const isQuick =
    (call.max_tokens !== null && call.max_tokens <= 64) ||
    wordsOf(call.last()).toLowerCase().includes('err on the side of blocking');
  return isQuick ? 'offshoot:permission-check:stage1' : 'offshoot:permission-check:stage2';
}

function titleOrPlan(call: CallTraits): CallKind | null {
  if (call.tool_count === 0) {
    const system = call.system();
    if (system.includes('{"title"')) return 'offshoot:title-gen';
    if (system.includes('<conversation>') || wordsOf(call.first()).startsWith('<conversation>')) {
      return 'offshoot:plan-name-gen';
    }
  }
  if (call.tool_count > 0 && call.stream) return null;
  const answer = call.reply ? textOf(call.reply.content).trim() : '';
  if (answersOnly(answer, 'title')) return 'offshoot:title-gen';
  return answersOnly(answer, 'name') ? 'offshoot:plan-name-gen' : null;
}

/** `{"<key>": …}` with no other key; for torn JSON, its beginning decides. An answer to a person is seldom so bare. */
function answersOnly(answer: string, key: string): boolean {
  if (!answer.startsWith('{') || !answer.slice(1).trimStart().startsWith(`"${key}"`)) return false;
  const document = parsed(answer);
  return document === undefined || (isFields(document) && Object.keys(document).length === 1);
}

function isWebSummary({ stream, tool_count, first }: CallTraits): boolean {
  if (stream && tool_count > 1) return false; // checked before the message is read, since it holds for every call of the conversation
  const words = wordsOf(first());
  if (words.startsWith('Perform a web search')) return true;
  return words.startsWith('Web page content:') && !(stream && tool_count > 0);
}

const LEAD = 'Primary Request and Intent';
const FURTHER = [
  'Key Technical Concepts',
  'Files and Code Sections',
  'Pending Tasks',
  'Current Work',
  'Errors and fixes',
  'Problem Solving',
  'All user messages',
  'Optional Next Step',
];
/** The beginning of the message from which a conversation continues after a compaction. It quotes the call that requested the summary. */
export const CONTINUATION = 'This session is being continued from a previous conversation';

function isCompaction(call: CallTraits, own: boolean): boolean {
  if (own && asksForSummary(wordsOf(call.last()))) return true;
  const answer = call.reply ? textOf(call.reply.content) : '';
  return answer.includes(LEAD) && isHeading(answer, LEAD) && FURTHER.some((section) => isHeading(answer, section));
}

/** Whether a message requests a summary as the harness does. A person who asks for one in passing gets an answer, no compaction. */
function asksForSummary(words: string): boolean {
  const lowered = words.toLowerCase();
  if (!lowered.includes('summary of the conversation so far') || words.includes(CONTINUATION)) return false;
  return INSTRUCTING.some((mark) => lowered.includes(mark));
}

const INSTRUCTING = ['your task is', 'create a ', '<analysis>', '<summary>', LEAD.toLowerCase()];

/** Whether a heading stands at the beginning of a line, after heading marks only: prose and source code may contain it too. */
function isHeading(answer: string, heading: string): boolean {
  for (let at = answer.indexOf(heading); at >= 0; at = answer.indexOf(heading, at + 1)) {
    const near = `${at > MARGIN ? '' : '\n'}${answer.slice(Math.max(at - MARGIN, 0), at)}`; // a line may be very long
    if (/\n[ \t\d.)#*-]*$/.test(near)) return true;
  }
  return false;
}

const MARGIN = 20;

/** How many messages back the parts of one check's transcript may be: newer versions send them as messages of their own. */
const FURTHEST_BACK = 8;
const OPEN = '<transcript>';
const CLOSE = '</transcript>';

/** The last entry of the transcript that a check is shown; '' when there is none. */
export function judgedAction(call: CallTraits): string {
  const blocks: string[] = [];
  for (let back = 0; back <= FURTHEST_BACK; back++) {
    const message = call.last(back);
    if (!message) break;
    blocks.unshift(...message.content.flatMap(({ type, text: words }) => (type === 'text' && words ? [words] : [])));
    const closed = blocks.findLastIndex((block) => block.trimStart().startsWith(CLOSE));
    if (closed > 0) return entry(blocks[closed - 1] ?? '');
    const whole = blocks.findLast((block) => block.includes(OPEN));
    if (whole !== undefined && closed < 0) return lastEntry(whole);
  }
  return '';
}

/** An entry is `Tool input`, or JSON `{"Tool": input}`. */
function entry(block: string): string {
  const document = block.trimStart().startsWith('{') ? parsed(block.trim()) : undefined;
  const [[tool, input] = ['', '']] = isFields(document) ? Object.entries(document) : [];
  if (tool === '') return block;
  return `${tool} ${typeof input === 'string' ? input : JSON.stringify(input)}`;
}

const TOOL_LINE = new RegExp(
  `^(?:${[
    'Agent|AskUserQuestion|Bash|Cron[A-Z]\\w+|Edit|Enter[A-Z]\\w+|Exit[A-Z]\\w+|Glob|Grep|Kill[A-Z]\\w+|LS|Monitor|MultiEdit',
    'NotebookEdit|PowerShell|PushNotification|Read|SendMessage|Skill|Task\\w*|TodoWrite|WebFetch|WebSearch|Workflow|Write',
    'mcp__\\S+',
  ].join('|')})\\b`,
);
const LINES_BACK = 10;

/** The last entry of a transcript in one block: from the last line that looks like a tool's, else the last line. */
function lastEntry(whole: string): string {
  const from = whole.lastIndexOf(OPEN) + OPEN.length;
  const end = whole.indexOf(CLOSE, from);
  const lines = whole
    .slice(from, end < 0 ? undefined : end)
    .trim()
    .split('\n');
  const near = lines.slice(-LINES_BACK);
  const at = near.findLastIndex((line) => TOOL_LINE.test(line.trimStart()));
  return at < 0 ? entry(near.at(-1) ?? '') : near.slice(at).join('\n');
}

/** The verdict, `<block>yes` or `<block>no`, after any reasoning. The stage follows from the call's kind; here it is guessed. */
export function verdict(output: readonly ContentBlock[]): PermissionVerdict | null {
  const answer = textOf(output);
  const reasoned = answer.includes('<thinking>') || output.some(({ thinking }) => thinking);
  const block = /<block>\s*(yes|no)\b/i.exec(withoutReasoning(answer))?.[1]?.toLowerCase();
  if (block === undefined) return null;
  return { disposition: block === 'yes' ? 'BLOCK' : 'ALLOW', stage: reasoned ? 2 : 1, reasoned };
}

/** The answer without its reasoning, which may name both verdicts. Reasoning that was cut off has reached none. */
function withoutReasoning(answer: string): string {
  const end = answer.lastIndexOf('</thinking>');
  if (end >= 0) return answer.slice(end);
  const start = answer.indexOf('<thinking>');
  return start < 0 ? answer : answer.slice(0, start);
}

/** `title` of the JSON that a title call answers, fenced or not. */
export function titleIn(output: readonly ContentBlock[]): string {
  const answer = textOf(output);
  const json = answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1);
  return text(fields(parsed(json)).title).trim();
}

/** What stands in `<summary>`; the answer up to its end where that has no beginning. */
export function summaryIn(answer: string): string | null {
  if (!answer.includes('<summary>') && !answer.includes('</summary>')) return null;
  return (answer.split('<summary>')[1] ?? answer).split('</summary>')[0] ?? '';
}
