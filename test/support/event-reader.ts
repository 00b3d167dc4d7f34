/** How does a test hear events? As a client of Server-Sent Events does, over a socket: one at a time, until it leaves. */
import { type IncomingMessage, request } from 'node:http';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Event } from '../../core/model/event.ts';

export type EventReader = {
  status: number;
  headers: IncomingMessage['headers'];
  /** What else but events was sent. */
  retry(): number | undefined;
  /** The next event but pings; null: the stream has ended. */
  next(): Promise<Event | null>;
  /** The next one, pings too. */
  nextOfAny(): Promise<Event | null>;
  /** All that came and was not asked for yet. */
  pending(): Event[];
  /** Takes no further byte off the socket. */
  pause(): void;
  resume(): void;
  leave(): void;
};

/** Connects, and is answered. */
export function readEvents(url: string, headers: Record<string, string> = {}): Promise<EventReader> {
  const heard: Event[] = [];
  let ended = false;
  let wake = () => {};
  let retry: number | undefined;
  const parser = createParser({
    onEvent: (message: EventSourceMessage) => {
      heard.push({ event: message.event, id: message.id, data: JSON.parse(message.data) } as Event);
      wake();
    },
    onRetry: (ms) => {
      retry = ms;
    },
  });
  const nextOfAny = async (): Promise<Event | null> => {
    while (heard.length === 0 && !ended)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    return heard.shift() ?? null;
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
          pending: () => [...heard],
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
