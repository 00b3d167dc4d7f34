/** How is an exchange given up, and how is that taken? Twin of ../leave.ts. */
import { constants } from 'node:http2';

const PATIENCE_MS = 2_000;

/**
 * @param {import('node:http2').ClientHttp2Session} session
 * @param {import('node:http2').ClientHttp2Stream} stream
 * @param {Record<string, string>} head
 */
export function leave(session, stream, head) {
  if (stream.closed) return;
  const reset = () => stream.close(constants.NGHTTP2_CANCEL);
  if (stream.id === undefined || session.closed || session.destroyed) {
    reset();
    return;
  }
  const late = setTimeout(reset, PATIENCE_MS).unref();
  stream.once('close', () => clearTimeout(late));
  stream.resume();
  const request = session.request({ ':method': 'POST', ...head, 'svc-stream': `${stream.id}` }, { endStream: true });
  request.on('error', () => {});
  request.resume();
}

/** Those that can be left. */
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
    leave(request, headers) {
      streams.get(Number(headers['svc-stream']))?.close(constants.NGHTTP2_CANCEL);
      if (!request.closed) request.respond({ ':status': 204 }, { endStream: true, sendDate: false });
    },
  };
}
