/** The ingest listener before an `append` of the test, asked directly or on a real socket. */
import { once } from 'node:events';
import { connect } from 'node:net';
import pino from 'pino';
import { serveApp } from '../../core/http/listen.ts';
import { openMetrics } from '../../core/metrics.ts';
import type { IngestVerdict } from '../../core/model/ingest.ts';
import type { TranscriptVerdict } from '../../core/model/transcript-upload.ts';
import { complaint, type IngestApi, ingestApi } from '../../ingest/app.ts';
import type { Json } from '../support/read-api.ts';

export const KEPT = {
  kind: 'accepted',
  raw_turn_id: 12,
  session_id: '019fa57e-6d3c-5a51-8a1c-5f2a9f1f7b20',
  request_id: 'r1',
  deduped: false,
  provider: 'anthropic',
} as const satisfies IngestVerdict;

export const KEPT_TRANSCRIPT = {
  kind: 'accepted',
  raw_turn_id: 13,
  session_id: KEPT.session_id,
  deduped: false,
  summary: {
    ...{ main: false, agent_id: 'a9b2a396fff8564e8', agent_type: 'general-purpose', description: 'Echo check' },
    ...{ tool_use_id: 'toolu_1', kind: '', records: 5, first_at: null, last_at: null },
  },
} as const satisfies TranscriptVerdict;

export const standIngest = (given: Partial<IngestApi> = {}) => {
  const taken: { body: Uint8Array; subject: string | null }[] = [];
  const lines: string[] = [];
  const metrics = openMetrics('ingest', '1.2.3');
  const app = ingestApi({
    append: async (body, subject) => {
      taken.push({ body, subject });
      return KEPT;
    },
    appendTranscript: async (body, subject) => {
      taken.push({ body, subject });
      return KEPT_TRANSCRIPT;
    },
    log: pino({}, { write: (line: string) => void lines.push(line) }),
    metrics,
    version: '1.2.3',
    allowedHosts: [],
    trustCallerHeader: false,
    ...given,
  });
  return {
    app,
    /** What came to be appended. */
    taken,
    logged: (): Json[] => lines.map((line) => JSON.parse(line)),
    /** The value of a series, `name{labels}`; 0 where there is none. */
    value: async (series: string): Promise<number> => {
      const line = (await metrics.text()).split('\n').find((one) => one.startsWith(`${series} `));
      return Number(line?.slice(series.length + 1) ?? 0);
    },
  };
};

export type Stand = ReturnType<typeof standIngest>;

/** Counted writes that ended so, of a provider that is not known. */
export const writes = ({ value }: Stand, status: string, provider = 'unknown') =>
  value(`svc_ingest_writes_total{provider="${provider}",status="${status}"}`);

export const serveIngest = async (given: Partial<IngestApi> = {}, ownPort = 0) => {
  const stand = standIngest(given);
  const { port, addresses, close } = await serveApp({
    fetch: stand.app.fetch,
    hosts: ['127.0.0.1'],
    port: ownPort,
    what: 'ingest API',
    complaint,
    asksForBodies: true,
  });
  return { ...stand, port, address: addresses[0] ?? '', close };
};

export const post = (app: Stand['app'], body: BodyInit, headers: Record<string, string> = {}) =>
  app.request('/v1/ingest', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
    duplex: 'half', // a stream is sent as it comes
  } as RequestInit);

/** The head of a POST, to be written by hand. */
export const head = (headers: Record<string, string | number>, path = '/v1/ingest') =>
  [
    `POST ${path} HTTP/1.1`,
    'host: localhost',
    'content-type: application/json',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');

/** A client that writes bytes as it likes. */
export const speak = (port: number) => {
  const socket = connect(port, '127.0.0.1');
  let heard = '';
  let failure = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    heard += text;
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    failure = error.code ?? error.name;
  });
  return {
    socket,
    heard: () => heard,
    failure: () => failure,
    closed: async () => {
      if (!socket.closed) await once(socket, 'close').catch(() => {}); // an error tells itself in `failure`
      return heard;
    },
  };
};

export const SIZE_ANSWER = '{"error":"request body exceeds the ingest size limit"}';
