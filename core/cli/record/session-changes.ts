/** The moments at which a session changes, by the event stream of the service; a connection that ends is made again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { OperatorError } from '../../errors.ts';
import { isObject, parseJson } from '../../parse-json.ts';
import type { ApiClient } from '../api-client.ts';

const AGAIN_MS = 1_000;
const ATTEMPTS = 30; // the service may be starting again

/**
 * Yields once at the beginning, since something may have changed before the stream was open, then after each change. Changes during the
 * work of whoever reads are one. Ends when the session is deleted.
 * @throws {OperatorError} the service stays away
 */
export async function* sessionChanges(api: ApiClient, id: string): AsyncGenerator<void> {
  for (let failures = 0; ; ) {
    try {
      const body = await api.response({
        path: '/v1/events',
        what: 'follow the session',
        headers: { accept: 'text/event-stream' },
      });
      failures = 0;
      yield;
      let changed = false;
      let deleted = false;
      const parser = createParser({
        onEvent: ({ event, data }) => {
          if (event === 'reset') changed = true;
          else if (sessionIn(data) === id) [changed, deleted] = [true, event === 'session_deleted'];
        },
      });
      for await (const chunk of body.setEncoding('utf8')) {
        parser.feed(chunk as string);
        if (deleted) return;
        if (changed) yield;
        changed = false;
      }
    } catch (error) {
      if (++failures === ATTEMPTS || !(error instanceof OperatorError || isLost(error))) throw error;
    }
    await sleep(AGAIN_MS);
  }
}

const isLost = (error: unknown) =>
  ['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes((error as NodeJS.ErrnoException).code ?? '');

function sessionIn(data: string): unknown {
  const event = parseJson(data);
  if (!isObject(event)) return null;
  return isObject(event.session) ? event.session.id : event.session_id;
}
