/** A client of Server-Sent Events over a socket: it reads one event at a time, until it leaves. */
import { type IncomingMessage, request } from 'node:http';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Event } from '../../core/model/event.ts';

export type EventReader = {
  status: number;
  headers: IncomingMessage['headers'];
  /** What else but events was sent. */
  retry(): number | undefined;
  /** The next event, without pings; null: the stream has ended. */
  next(): Promise<Event | null>;
  /** The next event, pings included. */
  nextOfAny(): Promise<Event | null>;
  /** All events that came and were not read yet. */
  pending(): Event[];
  /** Reads no further byte from the socket. */
  pause(): void;
  resume(): void;
  leave(): void;
};

/** Connects, and resolves with the head of the response. */
export function readEvents(url: string, headers: Record<string, string> = {}): Promise<EventReader> {
  const received: Event[] = [];
  let ended = false;
  let wake = () => {};
  let retry: number | undefined;
  const parser = createParser({
    onEvent: (message: EventSourceMessage) => {
      received.push({ event: message.event, id: message.id, data: JSON.parse(message.data) } as Event);
      wake();
    },
    onRetry: (ms) => {
      retry = ms;
    },
  });
  const nextOfAny = async (): Promise<Event | null> => {
    while (received.length === 0 && !ended)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    return received.shift() ?? null;
  };
  return new Promise((connected, failed) => {
    const outgoing = request(
      url,
      { headers: { accept: 'text/event-stream', ...headers }, agent: false },
      (response) => {
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => parser.feed(chunk));
        response.on('error', () => {}); // cut: `close` follows
        response.on('close', () => {
          ended = true;
          wake();
        });
        connected({
          status: response.statusCode ?? 0,
          headers: response.headers,
          retry: () => retry,
          nextOfAny,
          async next() {
            let event = await nextOfAny();
            while (event?.event === 'ping') event = await nextOfAny();
            return event;
          },
          pending: () => [...received],
          pause: () => response.pause(),
          resume: () => response.resume(),
          leave: () => outgoing.destroy(),
        });
      },
    );
    outgoing.on('error', failed);
    outgoing.end();
  });
}
