/** Reads the service's stream of events, and connects again for as long as somebody wants them. */
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { Event } from '../../../model/event.ts';

const BACKOFF_MS = [1_000, 2_000, 5_000, 10_000];
/** The service pings every 15 seconds. */
const SILENT_MS = 40_000;

export type StreamReader = {
  /** The id of the last event that was read; null: begin now. */
  lastId: () => string | null;
  /** The service does not know that id any more. */
  onLost: () => void;
  /** It is connected; the events of this connection follow. */
  onOpen: () => void;
  onEvent: (event: Event) => void;
  onInterrupted: () => void;
};

type Connect = (lastId: string | null, signal: AbortSignal) => Promise<Response>;

/** Ends when `signal` is aborted, and never throws. */
export async function readStream(connect: Connect, reader: StreamReader, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    const wasOpen = await readConnection(connect, reader, signal).catch(() => false);
    if (signal.aborted) return;
    if (wasOpen) failures = 0;
    reader.onInterrupted();
    await pause(BACKOFF_MS[Math.min(failures, BACKOFF_MS.length - 1)] ?? 0, signal);
  }
}

/** @returns whether it had been open */
async function readConnection(connect: Connect, reader: StreamReader, signal: AbortSignal): Promise<boolean> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENT_MS);
  let isOpen = false;
  try {
    const response = await connect(reader.lastId(), AbortSignal.any([signal, silence.signal]));
    if (response.status === 400) reader.onLost();
    if (response.status === 401) await pause(Number.POSITIVE_INFINITY, signal); // another token begins anew
    if (!response.ok || !response.body) return false;
    const messages = response.body
      .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
      .pipeThrough(new EventSourceParserStream())
      .getReader();
    for (let next = await messages.read(); !next.done; next = await messages.read()) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENT_MS);
      if (!isOpen) reader.onOpen();
      isOpen = true;
      const event = parsed(next.value);
      if (event) reader.onEvent(event);
    }
  } catch {
    // broken off, or given up: the caller knows which
  } finally {
    clearTimeout(timer);
  }
  return isOpen;
}

const KINDS = ['session', 'session_deleted', 'reset', 'ping'];

/** Events of kinds that the UI does not use are left out, as are those of kinds to come. */
function parsed({
  event,
  id,
  data,
}: {
  event?: string | undefined;
  id?: string | undefined;
  data: string;
}): Event | null {
  if (event === undefined || id === undefined || !KINDS.includes(event)) return null;
  return { event, id, data: JSON.parse(data) as unknown } as Event;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = Number.isFinite(ms) ? setTimeout(resolve, ms) : undefined;
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
