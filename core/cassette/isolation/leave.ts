/**
 * How is an exchange given up? The other end resets its stream for us: a server of Node's takes 33 resets a second, after a thousand,
 * and then ends the whole connection (nghttp2, CVE-2023-44487), which callers who leave must not bring about. Twin of child/leave.mjs.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';

/** Whoever hangs does not answer this either: then the stream is reset after all. */
const PATIENCE_MS = 2_000;

/** @param head of the request that leaves it, which is sent with `svc-stream` */
export function leave(session: ClientHttp2Session, stream: ClientHttp2Stream, head: Record<string, string>): void {
  if (stream.closed) return;
  const reset = () => stream.close(constants.NGHTTP2_CANCEL);
  if (stream.id === undefined || session.closed || session.destroyed) {
    reset();
    return;
  }
  const late = setTimeout(reset, PATIENCE_MS).unref();
  stream.once('close', () => clearTimeout(late));
  stream.resume(); // what still comes is nobody's
  const request = session.request({ ':method': 'POST', ...head, 'svc-stream': `${stream.id}` }, { endStream: true });
  request.on('error', () => {});
  request.resume();
}

/** Those that can be left. */
export function openStreams(): {
  add(stream: ServerHttp2Stream): void;
  leave(request: ServerHttp2Stream, headers: IncomingHttpHeaders): void;
} {
  const streams = new Map<number, ServerHttp2Stream>();
  return {
    add(stream) {
      const { id } = stream;
      if (id === undefined) return;
      streams.set(id, stream);
      stream.once('close', () => streams.delete(id));
    },
    leave(request, headers) {
      streams.get(Number(headers['svc-stream']))?.close(constants.NGHTTP2_CANCEL);
      if (!request.closed) request.respond({ ':status': 204 }, { endStream: true });
    },
  };
}
