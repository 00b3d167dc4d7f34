/** Serves the service's requests to a cassette's process: its description, its bindings, HTTP requests, background work, and the end. */
import { constants } from 'node:http2';
import { bodyOf, headersFrom, headersOf, sendBody, textOf, wholeness } from './bodies.mjs';
import { openStreams } from './cancel-exchange.mjs';
import { GONE, HEADER_BYTES } from './limits.mjs';

/**
 * What a module declares about itself, or why it is no cassette. Read once, before anything else of it runs.
 * @param {Record<string, any>} module
 */
export function describe(module) {
  const cassette = module.default;
  if (typeof cassette?.fetch !== 'function') return { failure: 'its default export has no function fetch' };
  try {
    const { manifest = null, migrations = null } = JSON.parse(
      JSON.stringify({ manifest: cassette.manifest, migrations: cassette.migrations }),
    );
    return { cassette, loaded: { manifest, migrations, scheduled: typeof cassette.scheduled === 'function' } };
  } catch (error) {
    return { failure: `its manifest or its migrations cannot be written as JSON: ${String(error)}` };
  }
}

/**
 * @param {{ loaded: Promise<any>, bindings: { env(handed: any): Record<string, any>, progress(items: unknown): void } }} process
 * @returns {(stream: import('node:http2').ServerHttp2Stream, headers: import('node:http2').IncomingHttpHeaders) => void}
 */
export function serve({ loaded, bindings }) {
  /** @type {Set<Promise<unknown>>} */
  const underWay = new Set();
  const streams = openStreams();
  /** @type {Record<string, any>} */
  let env = {};
  /** @type {any} */
  let cassette;
  let running = Promise.resolve();

  const track = (/** @type {Promise<unknown>} */ work) => {
    underWay.add(work);
    const done = () => underWay.delete(work);
    work.then(done, done);
  };
  const context = {
    waitUntil(/** @type {unknown} */ work) {
      const promise = Promise.resolve(work);
      track(promise);
      promise.catch((error) => console.error('What it waits for failed:', error));
    },
  };
  const scheduledContext = { ...context, progress: bindings.progress };

  /** @type {Record<string, (stream: any, headers: any) => Promise<void>>} */
  const operations = {
    async hello(stream) {
      const { failure, loaded: description } = await loaded;
      send(stream, failure === undefined ? { loaded: description } : { failure });
    },
    async bind(stream) {
      env = bindings.env(JSON.parse(await textOf(stream, { broke: GONE })));
      ({ cassette } = await loaded);
      send(stream, {});
    },
    async fetch(stream, headers) {
      const left = new AbortController();
      let hasResponse = false;
      stream.once('close', () => {
        if (!hasResponse) left.abort(new DOMException('The caller has left', 'AbortError'));
      });
      const request = requestOf(stream, headers, left.signal);
      let response;
      try {
        response = await cassette.fetch(request, env, context);
      } catch (error) {
        if (left.signal.aborted) return;
        console.error(error);
        return refuse(stream, 'threw');
      }
      await respond(stream, response);
      hasResponse = true;
    },
    async scheduled(stream, headers) {
      const stop = new AbortController();
      stream.once('end', () => stop.abort(new DOMException('It was told to stop', 'AbortError')));
      stream.resume(); // so that its end, which means stop, is seen
      const last = running;
      const event = { scheduled_at: Number(headers['svc-scheduled-at']), signal: stop.signal };
      const run = last.then(() => cassette.scheduled(event, env, scheduledContext));
      running = run.catch(() => {});
      try {
        await run;
        send(stream, {});
      } catch (error) {
        if (!stop.signal.aborted) console.error(error); // a run that was stopped has not failed
        send(stream, { failure: error instanceof Error ? error.message : String(error) });
      }
    },
    async cancel(stream, headers) {
      streams.cancel(stream, headers);
    },
    async close(stream) {
      while (underWay.size > 0) await Promise.allSettled(underWay);
      send(stream, {});
    },
  };

  return (stream, headers) => {
    const operation = String(headers['svc-operation']);
    stream.on('error', () => {}); // the service has cancelled it
    streams.add(stream);
    const work = operations[operation]?.(stream, headers) ?? Promise.resolve(refuse(stream, 'unknown'));
    if (operation === 'fetch') track(work);
    work.catch((error) => {
      console.error(error);
      if (stream.headersSent) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      else refuse(stream, 'threw');
    });
  };
}

/** @returns {Request} */
function requestOf(stream, headers, signal) {
  const body = stream.endAfterHeaders
    ? null
    : bodyOf(stream, {
        whole: wholeness(stream),
        broken: () => new DOMException('The caller has left', 'AbortError'),
        unwanted: () => stream.resume(), // the response goes on; what still comes in is discarded
      });
  const method = headers[':method'];
  return new Request(`${headers[':scheme']}://${headers[':authority']}${headers[':path']}`, {
    method,
    headers: headersFrom(headers),
    signal,
    ...(body === null ? {} : { body, duplex: 'half' }),
  });
}

async function respond(stream, response) {
  if (typeof response?.status !== 'number' || !(response.headers instanceof Headers))
    return refuse(stream, 'no-response');
  if (response.status === 0) return refuse(stream, 'status-0'); // of Response.error(); HTTP/2 would send 200
  if (response.bodyUsed || response.body?.locked) return refuse(stream, 'body-used');
  const headers = headersOf(response.headers);
  const bytes = Object.entries(headers).reduce(
    (sum, [name, value]) => sum + name.length + String(value).length + 32,
    0,
  );
  if (bytes > HEADER_BYTES) return refuse(stream, 'headers-too-large');
  if (stream.closed) {
    await response.body?.cancel();
    return;
  }
  const empty = response.body === null || stream.headRequest;
  stream.respond(
    { ':status': response.status, ...headers },
    { endStream: empty, waitForTrailers: !empty, sendDate: false },
  );
  if (!empty) await sendBody(response.body, stream);
  else await response.body?.cancel();
}

const send = (stream, answer) => {
  if (stream.closed) return;
  stream.respond({ ':status': 200 }, { sendDate: false });
  stream.end(JSON.stringify(answer));
};

const refuse = (stream, why) => {
  if (!stream.closed) stream.respond({ ':status': 500, 'svc-broken': why }, { endStream: true, sendDate: false });
};
