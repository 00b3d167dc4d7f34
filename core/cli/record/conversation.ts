/** A conversation as text for a terminal: prompts, answers, tools with their results, sub-agents further to the right. */
import pc from 'picocolors';
import { resultText } from '../../harness/message-text.ts';
import { mainArgument } from '../../harness/tool-argument.ts';
import type { ContentBlock } from '../../model/content-block.ts';
import type { Session } from '../../model/session.ts';
import type { Span } from '../../model/span.ts';
import type { Trace } from '../../model/trace.ts';
import { dollars, lasting, plainLines, several, shortCount } from '../units.ts';
import { shortened } from './table.ts';

export type View = {
  /** False: long texts of thinking, tools and results are folded, and what a harness does by itself is left out. */
  full: boolean;
  /** Of the terminal, in cells; undefined: no line is cut. */
  width: number | undefined;
};

const FOLDED_LINES = 4;
const INDENT = '  ';
const LEAST_ROOM = 30;

/** The heading of a session. */
export function sessionHeading(session: Session): string {
  const { rollup, agent_name, harness_id, harness_version, cwd, id, live } = session;
  const { input_tokens, output_tokens, cost_usd } = rollup.usage;
  const facts = [
    [agent_name ?? harness_id, harness_version].filter(Boolean).join(' '),
    ...(cwd ? [cwd] : []),
    several(rollup.turn_count, 'turn'),
    `${shortCount(input_tokens)} tokens in, ${shortCount(output_tokens)} out`,
    dollars(cost_usd),
    live ? 'live' : rollup.status,
  ];
  const title = shownOnOneLine(session.display_title);
  return `${pc.bold(title)}\n${pc.dim(`${facts.map(shownOnOneLine).join(' · ')}\n${id}`)}\n`;
}

/** @param number of the turn in its session, from 1 */
export function traceHeading({ started_at, duration_ns, usage, synthetic }: Trace, number: number): string {
  const facts = [
    `${started_at.slice(0, 10)} ${started_at.slice(11, 19)} UTC`,
    ...(duration_ns === undefined ? [] : [lasting(duration_ns / 1e9)]),
    `${shortCount(usage.input_tokens)} in, ${shortCount(usage.output_tokens)} out`,
    dollars(usage.cost_usd),
    ...(synthetic ? [synthetic] : []),
  ];
  return `\n${pc.cyan(`── ${number} ──`)} ${pc.dim(shownOnOneLine(facts.join(' · ')))}\n`;
}

/** How far to the right spans are shown: by the sub-agents above them. Holds what was seen of one trace. */
export type Depths = Map<string, number>;

/** '' where a span is not shown. Call it in the order of the walk. */
export function spanLines(span: Span, depths: Depths, view: View): string {
  const above = depths.get(span.parent_span_id ?? '') ?? -1;
  depths.set(span.span_id, span.kind === 'agent' ? above + 1 : Math.max(above, 0));
  return indented(above, view, (view) => LINES[span.kind](span, view));
}

/** The result of a tool alone, to go below its line. @param depths in which the tool is */
export const toolResultLines = (span: Span, depths: Depths, view: View): string =>
  indented(depths.get(span.parent_span_id ?? '') ?? -1, view, (view) => resultLines(span, view));

function indented(above: number, view: View, linesOf: (view: View) => string[]): string {
  const indent = INDENT.repeat(Math.max(above, 0));
  const room = view.width === undefined ? undefined : Math.max(LEAST_ROOM, view.width - indent.length);
  return linesOf({ ...view, width: room })
    .map((line) => `${line === '' ? '' : indent}${line}\n`)
    .join('');
}

const LINES: Record<Span['kind'], (span: Span, view: View) => string[]> = {
  agent: agentLines,
  llm: callLines,
  tool: toolLines,
  event: eventLines,
};

/** The main agent has no line of its own. */
function agentLines({ parent_span_id, name, description = '' }: Span): string[] {
  if (parent_span_id === undefined) return [];
  return ['', pc.magenta(`◆ ${shownOnOneLine(name || 'agent')} ${shownOnOneLine(description)}`.trimEnd())];
}

function callLines(span: Span, view: View): string[] {
  const { call_kind, input, output, status } = span;
  if (call_kind !== 'main' && !view.full) return [];
  const own = call_kind === 'main' ? [] : [pc.dim(`(${shownOnOneLine(call_kind)}, ${shownOnOneLine(span.model)})`)];
  return [
    ...own,
    ...input.flatMap((block) => promptLines(block, view)),
    ...output.flatMap((block) => answerLines(block, view)),
    ...(status === 'error' ? ['', pc.red(`✗ ${failure(span)}`)] : []),
    ...(status === 'partial' ? ['', pc.yellow('… the answer was broken off')] : []),
  ];
}

const failure = ({ error_type = 'failed', error_message }: Span) =>
  shownOnOneLine(error_message ? `${error_type}: ${error_message}` : error_type);

function promptLines(block: ContentBlock, view: View): string[] {
  const text = block.type === 'text' ? (block.text ?? '') : isImage(block) ? '[image]' : '';
  if (text.trim() === '') return [];
  return [
    '',
    ...folded(text, view, 5 * FOLDED_LINES).map((line, i) => `${pc.green(i === 0 ? '❯ ' : '  ')}${pc.bold(line)}`),
  ];
}

function answerLines(block: ContentBlock, view: View): string[] {
  if (block.type === 'text') return block.text?.trim() ? ['', ...plainLines(block.text)] : [];
  if (block.thinking?.trim()) return ['', ...folded(block.thinking, view).map((line) => pc.dim(pc.italic(line)))];
  return isImage(block) ? [pc.dim('[image]')] : []; // a tool that it calls is a span of its own
}

function toolLines(span: Span, view: View): string[] {
  const { name, status, input } = span;
  const mark = status === 'error' ? pc.red('✗') : status === 'ok' ? pc.green('●') : pc.yellow('○');
  const argument = input[0]?.tool_input;
  const shown = view.full && argument !== undefined ? plainLines(JSON.stringify(argument, null, 2)) : [];
  const tool = shownOnOneLine(name);
  const argumentText = cut(shownOnOneLine(mainArgument(argument)), view, tool.length + 3);
  const head = `${mark} ${pc.cyan(tool)} ${argumentText}`.trimEnd();
  return ['', head, ...shown.map((line) => `${INDENT}${line}`), ...resultLines(span, view)];
}

function resultLines({ status, output }: Span, view: View): string[] {
  const result = output.flatMap((block) => {
    const text = block.type.endsWith('tool_result') ? resultText(block) : (block.text ?? '');
    return text.trim() === '' ? (isImage(block) ? ['[image]'] : []) : folded(text, view);
  });
  const colour = status === 'error' ? pc.red : pc.dim;
  return result.map((line) => `${INDENT}${colour(cut(line, view, INDENT.length))}`);
}

function eventLines({ call_kind, input }: Span, view: View): string[] {
  if (!view.full) return [];
  const text = input.map((block) => block.text ?? '').join('\n');
  return [
    pc.dim(`(context: ${shownOnOneLine(call_kind)})`),
    ...plainLines(text).map((line) => pc.dim(`${INDENT}${line}`)),
  ];
}

const isImage = ({ type, image_url, image_base64 }: ContentBlock) =>
  type === 'image' || image_url !== undefined || image_base64 !== undefined;

/** A text's lines; of a long one the first, and how many follow. */
function folded(text: string, { full }: View, most = FOLDED_LINES): string[] {
  const lines = plainLines(text.trimEnd());
  if (full || lines.length <= most + 1) return lines;
  return [...lines.slice(0, most), `… ${several(lines.length - most, 'more line')}`];
}

const shownOnOneLine = (text: string) => plainLines(text).join(' ').replace(/\s+/g, ' ').trim();

/** A line that is one of several or a heading, cut where it would wrap. */
const cut = (line: string, { full, width }: View, taken: number): string =>
  full || width === undefined ? line : shortened(line, width - taken);
