/** The outline of the session on screen: read whole once, then what changed, each time somebody says that it did. */
import { type ReadonlySignal, signal } from '@preact/signals';
import type { Outline } from '../../../model/outline.ts';
import { mergeOutline, type OutlineColumns, spanIndex } from './outline-columns.ts';
import { outlineIndex } from './outline-index.ts';

const PAUSE_MS = 100; // between two reads, however often the session changes
const LARGE_SPANS = 2_000; // from there on the steps of showing an answer are tasks of their own, and keys are heard between them

export type ReadOutline = (
  page: { after: string | null; fromStart: boolean; cursor: string | null },
  signal: AbortSignal,
) => Promise<Outline>;

/** What is shown of a long session before the rest is there. */
export type EarlyPart = {
  /** What is around the span that the reader looks at; null: it is the beginning, and the oldest traces are read first. */
  around: { span_id: string; read: (signal: AbortSignal) => Promise<Outline> } | null;
  /** Whether it may be shown. */
  isShown: () => Promise<boolean>;
  /** When the rest may be read: it takes the database long, and what is shown first waits for texts. */
  rest: () => Promise<void>;
};

export type SessionOutline = {
  columns: ReadonlySignal<OutlineColumns | null>; // null: nothing has come yet
  complete: ReadonlySignal<boolean>; // false: the rest is still to come
  failure: ReadonlySignal<unknown>; // why the last read failed; null: it did not
  /** Reads what changed; while a read is under way, once more after it. */
  refresh: () => void;
  close: () => void;
};

/** @param early absent: the newest traces come first, and each page is shown */
export function sessionOutline(read: ReadOutline, early?: EarlyPart): SessionOutline {
  const columns = signal<OutlineColumns | null>(null);
  const complete = signal(false);
  const failure = signal<unknown>(null);
  const controller = new AbortController();
  let reading = false;
  let again = false;

  /** All pages of one answer. The first whole answer is shown page by page, since what the reader looks at first comes first. */
  const readPages = async (): Promise<void> => {
    const after = complete.peek() ? (columns.peek()?.rev ?? null) : null; // of what failed half-way, all is read again
    if (columns.peek() === null) await readAround();
    if (controller.signal.aborted) return;
    let merged: OutlineColumns | null = columns.peek();
    const fromStart = after === null && early !== undefined && early.around === null;
    let cursor: string | null = null;
    do {
      const answer: Outline = await read({ after, fromStart, cursor }, controller.signal);
      if (controller.signal.aborted || (after !== null && cursor === null && saysNothing(merged, answer))) return;
      merged = mergeOutline(cursor === null && answer.whole ? null : merged, answer);
      const isFirst: boolean = cursor === null;
      cursor = answer.next_cursor ?? null;
      const isEarly: boolean = cursor !== null && fromStart;
      const isPartShown = after === null && (isEarly ? isFirst && (await early?.isShown()) : hasPlace(merged));
      const isShown = cursor === null || isPartShown;
      if (isShown && answer.spans.span_id.length >= LARGE_SPANS) await prepared(merged);
      if (controller.signal.aborted) return;
      if (isShown) columns.value = merged;
      if (isShown && isEarly) await early?.rest();
    } while (cursor !== null);
    complete.value = true;
    performance.mark('svc:outline-complete');
  };

  const readAround = async (): Promise<void> => {
    const answer = await early?.around?.read(controller.signal).catch(() => null); // why it is not to be had, the whole says
    if (!early || !answer || !(await early.isShown()) || controller.signal.aborted) return;
    columns.value = mergeOutline(null, answer);
    await early.rest();
  };

  /** Whether what the reader looks at is there: a page without it would take it off the screen. */
  const hasPlace = (merged: OutlineColumns): boolean =>
    !early?.around || columns.peek() === null || spanIndex(merged, '', early.around.span_id) >= 0;

  const refresh = async (): Promise<void> => {
    again = true;
    if (reading) return;
    reading = true;
    while (again && !controller.signal.aborted) {
      again = false;
      try {
        await readPages();
        failure.value = null;
      } catch (error) {
        if (!controller.signal.aborted) failure.value = error;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    reading = false;
  };

  return { columns, complete, failure, refresh: () => void refresh(), close: () => controller.abort() };
}

/**
 * An answer without a change: merged columns would be others, and all that is made of them would be made anew. Links to other
 * sessions come with each answer, so where there were some, an answer without any has taken them away.
 */
const saysNothing = (before: OutlineColumns | null, { whole, next_cursor, traces, spans, links }: Outline): boolean =>
  !whole &&
  next_cursor === undefined &&
  before?.others.length === 0 &&
  [traces.trace_id, spans.span_id, links.kind].every(({ length }) => length === 0);

async function prepared(columns: OutlineColumns): Promise<void> {
  await nextTask();
  outlineIndex(columns); // is kept for who shows the columns
  await nextTask();
}

const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
