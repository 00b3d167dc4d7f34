/** How is an exchange given up, and how is that taken? Twin of ../leave.ts. */
import { constants } from 'node:http2';

const PATIENCE_MS = 2_000;

/**
 * @param {import('node:http2').ClientHttp2Session} session
 * @param {import('node:http2').ClientHttp2Stream} stream
 * @param {Record<string, string>} ask
 */
export function leave(session, stream, ask) {
  if (stream.closed) return;
  const reset = () => stream.close(constants.NGHTTP2_CANCEL);
  if (stream.id === undefined || session.closed || session.destroyed) {
    reset();
    return;
  }
  const late = setTimeout(reset, PATIENCE_MS).unref();
  stream.once('close', () => clearTimeout(late));
  stream.resume();
  const asked = session.request({ ':method': 'POST', ...ask, 'svc-stream': `${stream.id}` }, { endStream: true });
  asked.on('error', () => {});
  asked.resume();
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
     * @param {import('node:http2').ServerHttp2Stream} asked
     * @param {import('node:http2').IncomingHttpHeaders} headers
     */
    leave(asked, headers) {
      streams.get(Number(headers['svc-stream']))?.close(constants.NGHTTP2_CANCEL);
      if (!asked.closed) asked.respond({ ':status': 204 }, { endStream: true, sendDate: false });
    },
  };
}
