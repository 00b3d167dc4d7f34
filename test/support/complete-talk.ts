/** Whether Talk shows all that a session holds: each text of a step in that step's own rows, and none more often than it was recorded. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { z } from 'zod';
import type { Session } from '../../core/model/session.ts';
import type { Span } from '../../core/model/span.ts';
import type { SessionDocument } from '../../core/model/trace.ts';
import { read } from './serve.ts';
import { lettersOf, type WalkedRow, walkTalk } from './talk-walk.ts';
import type { WebStand } from './web.ts';

/** Shorter lines may occur by chance. */
const FOUND_BY = 6;
const COUNTED_FROM = 30;

/** Opens every thread of a session in a browser, unfolds it whole, and holds it against the API's texts. @returns how many lines were found */
export async function assertComplete(
  { base, open }: Pick<WebStand, 'base' | 'open'>,
  session: Session,
): Promise<number> {
  const { traces } = await read<z.infer<typeof SessionDocument>>(`${base}/v1/sessions/${session.id}/traces`);
  const spans = traces.flatMap((trace) => trace.spans).filter(({ kind }) => kind !== 'agent');
  const threads = new Map(spans.map(({ thread_id }) => [thread_id, [] as Span[]]));
  for (const span of spans) threads.get(span.thread_id)?.push(span);
  const missing: string[] = [];
  let found = 0;
  for (const [thread, own] of threads) {
    const page = await open(`/sessions/${session.id}${thread === '' ? '' : `?thread=${encodeURIComponent(thread)}`}`);
    const rows = await walked(page);
    await page.close();
    const shown = { own, rows, name: `${session.display_title}, thread "${thread}"` };
    missing.push(...notFound(shown), ...foundTwice(shown));
    found += own.flatMap(linesOf).length;
  }
  assert.equal(missing, []);
  return found;
}

async function walked(page: Page): Promise<WalkedRow[]> {
  await page.waitForSelector('[data-row]');
  await page.keyboard.press('b'); // calls beside the conversation too
  return [...(await walkTalk(page)).values()];
}

type Shown = { own: readonly Span[]; rows: readonly WalkedRow[]; name: string };

/** Lines that the step's own rows lack. */
function notFound({ own, rows, name }: Shown): string[] {
  const bySpan = new Map<string, string>();
  for (const { span, text } of rows.flatMap(({ bodies }) => bodies))
    bySpan.set(span, `${bySpan.get(span) ?? ''} ${lettersOf(text)}`);
  return own.flatMap((span) =>
    linesOf(span)
      .filter((line) => !bySpan.get(span.span_id)?.includes(line))
      .map((line) => `${name}: not found at ${span.kind} ${span.span_id}: ${line.slice(0, 200)}`),
  );
}

/** Steps with two rows of a kind, and lines that the rows show more often than the API has them. */
function foundTwice({ own, rows, name }: Shown): string[] {
  const steps = rows.filter(({ kind, span }) => span !== '' && ['step', 'tool', 'agent', 'compaction'].includes(kind));
  const doubled = steps.filter(({ span }, n) => steps.findIndex((one) => one.span === span) !== n);
  const ids = new Set(own.map(({ span_id }) => span_id)); // the steps of a sub-agent below its card are another thread's
  const bodies = rows.flatMap((row) => row.bodies.filter(({ span }) => ids.has(span)));
  const shown = bodies.map(({ text }) => lettersOf(text));
  const counted = new Set(own.flatMap(linesOf).filter((line) => line.length >= COUNTED_FROM));
  const recorded = own.map((span) => textsOf(span).join('\n')); // whole, since a body holds a line with those around it
  const [asRead, unmarked] = [recorded.map(lettersOf), recorded.map((text) => lettersOf(text.replace(MARKS, '')))];
  const often = [...counted].flatMap((line) => {
    const [times, most] = [occurrences(shown, line), Math.max(occurrences(asRead, line), occurrences(unmarked, line))];
    return times > most ? [`${name}: ${times} times, and ${most} times recorded: ${line.slice(0, 200)}`] : [];
  });
  return [...doubled.map(({ kind, span }) => `${name}: two rows ${kind} ${span}`), ...often];
}

const occurrences = (texts: readonly string[], words: string): number =>
  texts.reduce((sum, text) => sum + text.split(words).length - 1, 0);

/** Numbers and fences at a line's beginning: they become marks of a list or of code, or stand beside it. */
const MARKS = /^\s*(\d+[.)→\t]|`{3,}\w*)\s*/gm;

/** The lines of a step as letters, of those that are long enough to be found by. Of a link and of colours only the words stay. */
const linesOf = (span: Span): string[] =>
  textsOf(span)
    .flatMap((text) => text.split('\n'))
    .filter((line) => !line.includes('](') && !line.includes('\u001b'))
    .map((line) => lettersOf(line.replace(MARKS, '')))
    .filter((line) => line.length >= FOUND_BY);

function textsOf({ kind, input, output, error_message = '' }: Span): string[] {
  if (kind !== 'tool')
    return [error_message, ...[...input, ...output].flatMap((block) => [block.text ?? '', block.thinking ?? ''])];
  return [
    ...input.flatMap(({ tool_input }) => stringsIn(tool_input)),
    ...output.flatMap(({ tool_output = '', text = '' }) => [tool_output, text]),
  ];
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
