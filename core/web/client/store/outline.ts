/** The outline of the session on screen: read whole once, then what changed, each time somebody says that it did. */
import { type ReadonlySignal, signal } from '@preact/signals';
import type { Outline } from '../../../model/outline.ts';
import { layOver, type OutlineColumns } from './outline-columns.ts';

const PAUSE_MS = 100; // between two reads, however often the session changes

export type ReadOutline = (
  page: { after: string | null; cursor: string | null },
  signal: AbortSignal,
) => Promise<Outline>;

export type SessionOutline = {
  columns: ReadonlySignal<OutlineColumns | null>; // null: nothing has come yet
  complete: ReadonlySignal<boolean>; // false: older traces are still to come
  failure: ReadonlySignal<unknown>; // why the last read failed; null: it did not
  /** Reads what changed; while a read is under way, once more after it. */
  refresh: () => void;
  close: () => void;
};

export function sessionOutline(read: ReadOutline): SessionOutline {
  const columns = signal<OutlineColumns | null>(null);
  const complete = signal(false);
  const failure = signal<unknown>(null);
  const controller = new AbortController();
  let reading = false;
  let again = false;

  /** All pages of one answer. The first whole answer is shown page by page, since its newest traces come first. */
  const readPages = async (): Promise<void> => {
    const after = columns.peek()?.rev ?? null;
    let laid: OutlineColumns | null = columns.peek();
    let cursor: string | null = null;
    do {
      const answer: Outline = await read({ after, cursor }, controller.signal);
      if (controller.signal.aborted) return;
      laid = layOver(cursor === null && answer.whole ? null : laid, answer);
      cursor = answer.next_cursor ?? null;
      if (after === null || cursor === null) columns.value = laid;
    } while (cursor !== null);
    complete.value = true;
    performance.mark('svc:outline-complete');
  };

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
