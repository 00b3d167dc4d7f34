/** What do clients see while things go wrong? Calls of every kind that remember, to the byte, what they sent and what came back. */
import { Agent, request } from 'node:http';
import { type SocketClient, socketClient } from '../responses-socket.ts';
import type { Service } from '../serve.ts';

/** `small`: one document. `stream`: events. `large`: a body of some hundred kilobytes, echoed. `socket`: a response over a WebSocket. */
export type Kind = 'small' | 'stream' | 'large' | 'socket';

/** A call as its client knows it. */
export type Call = {
  name: string; // stands at the beginning of its question, and nowhere else
  kind: Kind;
  run: number; // of the service, counted by the test
  sent: string;
  heard: Buffer[]; // of the answer's body, so far
  endedAt: number | null; // when its last byte had come; null: never
};

export type Load = {
  calls: Call[];
  sockets(): number; // asked for, each a request of its own in the ledger
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

/** The name of the call whose request this is, or begins like this; '': it does not come so far. */
export const nameIn = (body: string): string => /"(?:content|input)":"([^"|]+)\|/.exec(body)?.[1] ?? '';

/** Asks over HTTP. @throws what the connection said when it broke */
export const ask = (to: string, call: Call): Promise<void> =>
  new Promise((done, fail) => {
    const outgoing = request(
      `${to}/v1/messages`,
      {
        agent,
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

export const askProxy = (service: Service, call: Call) => ask(`${service.proxy}/anthropic`, call);

/** Clients of these kinds, each of which asks again as soon as it was answered, until the load is stopped or the service is gone. */
export function startClients(service: Service, kinds: readonly Kind[], run: number, fillerBytes = 0): Load {
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
    for (let n = 0; running; n++) await askOn(socket, begin(client, 'socket', n));
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

/** So many a second, whether or not those before were answered. */
export function startRate(service: Service, kind: Exclude<Kind, 'socket'>, perSecond: number, run: number): Load {
  const calls: Call[] = [];
  const underWay = new Set<Promise<void>>();
  const began = Date.now();
  const timer = setInterval(() => {
    while (calls.length < ((Date.now() - began) / 1000) * perSecond) {
      const call = newCall(`run ${run} question ${calls.length}`, kind, run);
      calls.push(call);
      const asked = askProxy(service, call)
        .catch(() => {}) // seen by its `endedAt`
        .finally(() => underWay.delete(asked));
      underWay.add(asked);
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

/** One response over the socket; its answer is a line for each event, as it is kept. @throws when the socket is closed before its end */
function askOn(client: SocketClient, call: Call): Promise<void> {
  return new Promise((done, fail) => {
    const hear = (bytes: Buffer) => {
      call.heard.push(Buffer.concat([bytes, Buffer.from('\n')]));
      if (!bytes.includes('"type":"response.completed"')) return;
      call.endedAt = Date.now();
      client.socket.off('message', hear);
      done();
    };
    client.socket.on('message', hear);
    void client.closed.then(() => fail(new Error('Cannot ask: the socket is closed')));
    client.socket.send(call.sent);
  });
}
