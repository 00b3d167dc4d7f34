/** Cancels an exchange, and handles the other side's cancellations. Twin of ../cancel-exchange.ts. */
import { constants } from 'node:http2';

const RESET_AFTER_MS = 2_000;

/**
 * @param {import('node:http2').ClientHttp2Session} session
 * @param {import('node:http2').ClientHttp2Stream} stream
 * @param {Record<string, string>} head
 */
export function cancelExchange(session, stream, head) {
  if (stream.closed) return;
  const reset = () => stream.close(constants.NGHTTP2_CANCEL);
  if (stream.id === undefined || session.closed || session.destroyed) {
    reset();
    return;
  }
  const timeout = setTimeout(reset, RESET_AFTER_MS).unref();
  stream.once('close', () => clearTimeout(timeout));
  stream.resume();
  const request = session.request({ ':method': 'POST', ...head, 'svc-stream': `${stream.id}` }, { endStream: true });
  request.on('error', () => {});
  request.resume();
}

/** The streams that the other end can cancel. */
export function openStreams() {
  /** @type {Map<number, import('node:http2').ServerHttp2Stream>} */
  const streams = new Map();
  return {
    /** @param {import('node:http2').ServerHttp2Stream} stream */
    add(stream) {
      const { id } = stream;
      if (id === undefined) return;
      streams.set(id, stream);
      stream.once('close', () => streams.delete(id));
    },
    /**
     * @param {import('node:http2').ServerHttp2Stream} request
     * @param {import('node:http2').IncomingHttpHeaders} headers
     */
    cancel(request, headers) {
      streams.get(Number(headers['svc-stream']))?.close(constants.NGHTTP2_CANCEL);
      if (!request.closed) request.respond({ ':status': 204 }, { endStream: true, sendDate: false });
    },
  };
}
