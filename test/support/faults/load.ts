/** Clients for fault tests: calls of every kind that record, to the byte, what they sent and what came back. */
import { Agent, request } from 'node:http';
import { type SocketClient, socketClient } from '../responses-socket.ts';
import type { Service } from '../serve.ts';

/** `small`: one document. `stream`: events. `large`: a body of some hundred kilobytes, echoed. `socket`: a response over a WebSocket. */
export type Kind = 'small' | 'stream' | 'large' | 'socket';

/** A call as its client knows it. */
export type Call = {
  name: string; // is at the beginning of its question, and nowhere else
  kind: Kind;
  run: number; // of the service, counted by the test
  sent: string;
  heard: Buffer[]; // chunks of the response body, so far
  endedAt: number | null; // when its last byte came; null: it never did
};

export type Load = {
  calls: Call[];
  sockets(): number; // opened; each upgrade is a request of its own in the ledger
  /** Resolves when no call is under way. */
  stop(): Promise<void>;
};

const LARGE_BYTES = 300_000;
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

export const answerOf = ({ heard }: Call): Buffer => Buffer.concat(heard);

/** @param fillerBytes of the question, besides what its kind has */
export function newCall(name: string, kind: Kind, run: number, fillerBytes = 0): Call {
  const content = `${name}|${'.'.repeat(fillerBytes + (kind === 'large' ? LARGE_BYTES : 0))}`;
  const body =
    kind === 'socket'
      ? { type: 'response.create', model: 'gpt-5', input: content }
      : {
          model: 'claude-sonnet-4-5',
          max_tokens: 100,
          ...(kind === 'stream' ? { stream: true } : {}),
          messages: [{ role: 'user', content }],
        };
  return { name, kind, run, sent: JSON.stringify(body), heard: [], endedAt: null };
}

/** The name of the call with this request, which may be cut; '': the name is not in it. */
export const nameIn = (body: string): string => /"(?:content|input)":"([^"|]+)\|/.exec(body)?.[1] ?? '';

/** Makes the call over HTTP. @param through default: connections that are kept @throws the error of the connection when it breaks */
export const ask = (to: string, call: Call, through: Agent = agent): Promise<void> =>
  new Promise((done, fail) => {
    const outgoing = request(
      `${to}/v1/messages`,
      {
        agent: through,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(call.sent),
          'x-svc-harness-id': 'faults',
          'x-svc-harness-session-id': `${call.kind} ${call.run}`,
        },
      },
      (response) => {
        response.on('data', (chunk: Buffer) => call.heard.push(chunk));
        response.on('error', fail);
        response.on('end', () => {
          call.endedAt = Date.now();
          done();
        });
      },
    );
    outgoing.on('error', fail);
    outgoing.end(call.sent);
  });

export const askProxy = (service: Pick<Service, 'proxy'>, call: Call) => ask(`${service.proxy}/anthropic`, call);

/** Clients of these kinds. Each makes its next call when the last one has ended, until the load is stopped or the service is gone. */
export function startClients(
  service: Pick<Service, 'proxy'>,
  kinds: readonly Kind[],
  run: number,
  fillerBytes = 0,
): Load {
  const calls: Call[] = [];
  let running = true;
  let sockets = 0;
  const begin = (client: number, kind: Kind, n: number) => {
    const call = newCall(`run ${run} client ${client} question ${n}`, kind, run, fillerBytes);
    calls.push(call);
    return call;
  };
  const overHttp = async (client: number, kind: Kind) => {
    for (let n = 0; running; n++) await askProxy(service, begin(client, kind, n));
  };
  const overSocket = async (client: number) => {
    sockets++;
    const socket = await socketClient(`${service.proxy}/openai/v1/responses`);
    for (let n = 0; running; n++) await sendOn(socket, begin(client, 'socket', n));
    socket.socket.close();
    await socket.closed;
  };
  const clients = kinds.map((kind, client) => (kind === 'socket' ? overSocket(client) : overHttp(client, kind)));
  const settled = Promise.allSettled(clients);
  return {
    calls,
    sockets: () => sockets,
    stop: async () => {
      running = false;
      await settled;
    },
  };
}

/** Starts that many calls a second, whether or not earlier ones have ended. */
export function startRate(
  service: Pick<Service, 'proxy'>,
  kind: Exclude<Kind, 'socket'>,
  perSecond: number,
  run: number,
): Load {
  const calls: Call[] = [];
  const underWay = new Set<Promise<void>>();
  const began = Date.now();
  const timer = setInterval(() => {
    while (calls.length < ((Date.now() - began) / 1000) * perSecond) {
      const call = newCall(`run ${run} question ${calls.length}`, kind, run);
      calls.push(call);
      const request = askProxy(service, call)
        .catch(() => {}) // seen by its `endedAt`
        .finally(() => underWay.delete(request));
      underWay.add(request);
    }
  }, 10);
  return {
    calls,
    sockets: () => 0,
    stop: async () => {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}

/** Makes a call over the socket and records a line for each event, as it is stored. @throws when the socket is closed before its end */
function sendOn(client: SocketClient, call: Call): Promise<void> {
  return new Promise((done, fail) => {
    const onMessage = (bytes: Buffer) => {
      call.heard.push(Buffer.concat([bytes, Buffer.from('\n')]));
      if (!bytes.includes('"type":"response.completed"')) return;
      call.endedAt = Date.now();
      client.socket.off('message', onMessage);
      done();
    };
    client.socket.on('message', onMessage);
    void client.closed.then(() => fail(new Error('Cannot ask: the socket is closed')));
    client.socket.send(call.sent);
  });
}
