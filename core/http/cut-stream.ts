/** The end of a stream that cannot be finished: the beginning of something must not look like the whole. */
import type { Context } from 'hono';
import type { Logger } from '../log.ts';
import { traceOf } from './failure.ts';
import type { HttpEnv } from './routes.ts';

/** Logs why, and cuts the connection. */
export function cutStream(
  c: Context<HttpEnv>,
  controller: ReadableStreamDefaultController<Uint8Array>,
  thrown: unknown,
  log: Logger,
): void {
  log.error({ request_id: c.get('requestId'), ...traceOf(thrown) }, 'Cannot finish an answer');
  const { outgoing } = c.env ?? {};
  if (!outgoing) {
    controller.error(new Error('Cannot finish the answer'));
    return;
  }
  outgoing.destroy(); // cut: the adaptor would write an error of the stream into the body
  controller.close();
}
