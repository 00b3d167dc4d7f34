// @ts-check
/**
 * Cancels an exchange by a request that the other end reset its stream. Resets of our own would be counted: a Node server accepts 33 a
 * second, after a thousand, and then ends the whole connection (nghttp2, CVE-2023-44487), which callers who leave must not cause.
 * The service and its cassettes' processes both use this file.
 */
import { constants } from 'node:http2';

/** @typedef {import('node:http2').ServerHttp2Stream} ServerHttp2Stream */

/** A process that hangs does not serve this request either: then the stream is reset after all. */
const RESET_AFTER_MS = 2_000;

/**
 * @param {import('node:http2').ClientHttp2Session} session
 * @param {import('node:http2').ClientHttp2Stream} stream
 * @param {Record<string, string>} head headers of the request that cancels it, sent together with `svc-stream`
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
  stream.resume(); // what still comes is discarded
  const request = session.request({ ':method': 'POST', ...head, 'svc-stream': `${stream.id}` }, { endStream: true });
  request.on('error', () => {});
  request.resume();
}

/** The streams that the other end can cancel. */
export function openStreams() {
  /** @type {Map<number, ServerHttp2Stream>} */
  const streams = new Map();
  return {
    /** @param {ServerHttp2Stream} stream */
    add(stream) {
      const { id } = stream;
      if (id === undefined) return;
      streams.set(id, stream);
      stream.once('close', () => streams.delete(id));
    },
    /**
     * @param {ServerHttp2Stream} request
     * @param {import('node:http2').IncomingHttpHeaders} headers
     */
    cancel(request, headers) {
      streams.get(Number(headers['svc-stream']))?.close(constants.NGHTTP2_CANCEL);
      if (!request.closed) request.respond({ ':status': 204 }, { endStream: true });
    },
  };
}
