/** The texts of a session's spans, read as they come into view: a window of each trace at a time, at most three requests at once, the last 2,000 spans remembered. */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Span } from '../../../model/span.ts';

const WINDOW = 50;
const AT_ONCE = 3;
const REMEMBERED = 2_000;

/** A span whose text is needed. `changed` is the layer of the outline that last wrote it: an older text is read again. */
export type WantedSpan = { trace_id: string; span_id: string; seq: number; changed: number };

/** What can be shown of a span. `whole`: nothing of its input and output is shortened. */
export type SpanText = { span: Span; whole: boolean; changed: number };

export type ReadWindow = (
  trace_id: string,
  window: { from_seq: number; limit: number },
  signal: AbortSignal,
) => Promise<{ items: Span[] }>;
export type ReadWhole = (trace_id: string, span_id: string) => Promise<Span>;

export type SpanWindow = {
  /** Says which spans are in view or near it, the most urgent first. What was wanted before and is not now is given up. */
  show: (wanted: readonly WantedSpan[]) => void;
  /** The text of a span; undefined until it has come. */
  text: (span: Pick<WantedSpan, 'trace_id' | 'span_id'>) => ReadonlySignal<SpanText | undefined>;
  /** Reads the span without shortening, unless it was. */
  readWhole: (span: WantedSpan) => Promise<Span>;
  /** Why a text could not be read; null: all that is wanted could, or is still to come. */
  failure: ReadonlySignal<unknown>;
  /** Reads again what is wanted and has not come. Who wants a whole span asks for it again when `attempt` is another. */
  retry: () => void;
  attempt: ReadonlySignal<number>;
  /** Resolves when the texts that were wanted first are there, or could not be read. */
  first: Promise<void>;
  close: () => void;
};

type Batch = { trace_id: string; from_seq: number; to_seq: number; changed: number };
type Running = Batch & { controller: AbortController };

export function spanWindow(readWindow: ReadWindow, readWhole: ReadWhole): SpanWindow {
  const texts = new Map<string, Signal<SpanText | undefined>>(); // the least recently used first
  const failure = signal<unknown>(null);
  const attempt = signal(0);
  let shown: readonly WantedSpan[] = [];
  let waiting: Batch[] = [];
  let running: Running[] = [];
  let closed = false;
  let firstRead = () => {};
  const first = new Promise<void>((resolve) => {
    firstRead = resolve;
  });

  const textOf = (trace_id: string, span_id: string): Signal<SpanText | undefined> => {
    const key = trace_id + span_id;
    const text = texts.get(key) ?? signal<SpanText | undefined>(undefined);
    texts.delete(key);
    texts.set(key, text);
    return text;
  };
  const forgetOldest = () => {
    for (const key of texts.keys()) {
      if (texts.size <= REMEMBERED) return;
      texts.delete(key);
    }
  };
  const isMissing = ({ trace_id, span_id, changed }: WantedSpan): boolean =>
    (textOf(trace_id, span_id).peek()?.changed ?? -1) < changed;
  const put = (span: Span, changed: number, whole: boolean) => {
    const text = textOf(span.trace_id, span.span_id);
    const before = text.peek();
    if (before && before.changed >= changed && before.whole && !whole) return;
    text.value = { span, whole, changed };
  };

  const run = async (batch: Batch): Promise<void> => {
    const controller = new AbortController();
    const own = { ...batch, controller };
    running.push(own);
    try {
      const { trace_id, from_seq, to_seq } = batch;
      const { items } = await readWindow(trace_id, { from_seq, limit: to_seq - from_seq + 1 }, controller.signal);
      for (const span of items) put(span, batch.changed, span.payload !== 'preview');
      forgetOldest();
      if (!shown.some(isMissing)) failure.value = null; // another window may have failed
    } catch (error) {
      if (!controller.signal.aborted) failure.value = error;
    } finally {
      running = running.filter((other) => other !== own);
      next();
      if (running.length === 0) firstRead();
    }
  };
  const next = () => {
    while (!closed && running.length < AT_ONCE) {
      const batch = waiting.shift();
      if (!batch) return;
      void run(batch);
    }
  };

  const show = (wanted: readonly WantedSpan[]) => {
    shown = wanted;
    for (const one of running) if (!wanted.some((span) => covers(one, span))) one.controller.abort();
    const under = running.filter(({ controller }) => !controller.signal.aborted);
    waiting = batches(wanted.filter((span) => isMissing(span) && !under.some((one) => covers(one, span))));
    next();
  };

  return {
    ...{ failure, first, attempt, show },
    text: ({ trace_id, span_id }) => textOf(trace_id, span_id),
    retry: () => {
      failure.value = null;
      attempt.value++;
      show(shown);
    },
    readWhole: async (wanted) => {
      const text = textOf(wanted.trace_id, wanted.span_id).peek();
      if (text?.whole && text.changed >= wanted.changed) return text.span;
      try {
        const span = await readWhole(wanted.trace_id, wanted.span_id);
        put(span, wanted.changed, true);
        if (!shown.some(isMissing)) failure.value = null;
        return span;
      } catch (error) {
        failure.value = error; // what is on screen is cut, and would look as if it were all
        throw error;
      }
    },
    close: () => {
      closed = true;
      waiting = [];
      for (const { controller } of running) controller.abort();
    },
  };
}

const covers = (batch: Batch, { trace_id, seq, changed }: WantedSpan): boolean =>
  batch.trace_id === trace_id && batch.from_seq <= seq && seq <= batch.to_seq && batch.changed >= changed;

/** The windows that hold the spans, in the order of the first of each. */
function batches(spans: readonly WantedSpan[]): Batch[] {
  const found: Batch[] = [];
  for (const { trace_id, seq, changed } of spans) {
    const near = found.find((batch) => batch.trace_id === trace_id && fits(batch, seq));
    if (near) {
      near.from_seq = Math.min(near.from_seq, seq);
      near.to_seq = Math.max(near.to_seq, seq);
      near.changed = Math.max(near.changed, changed);
    } else found.push({ trace_id, from_seq: seq, to_seq: seq, changed });
  }
  return found;
}

const fits = ({ from_seq, to_seq }: Batch, seq: number): boolean =>
  Math.max(to_seq, seq) - Math.min(from_seq, seq) < WINDOW;
