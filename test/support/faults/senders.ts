/**
 * A gateway's sender in fault tests: posts turns at a fixed rate, each to some ingest API, and again until one has accepted it. So many at once
 * at most: a sender without that bound would bury a service that was away under what it sends again.
 */
import type { Fleet } from './fleet.ts';

export type SentTurn = {
  /** At the beginning of its question, and its request id. */
  name: string;
  sent: string;
  accepted: boolean;
  /** How often it was sent; more than once where no verdict came. */
  tries: number;
};

export type Senders = {
  turns: SentTurn[];
  /** Resolves when all that was begun is accepted. */
  stop(): Promise<void>;
};

const AGAIN_MS = 200;
const AT_ONCE = 16;

export function startSenders(fleet: Fleet, perSecond: number, run: number): Senders {
  const turns: SentTurn[] = [];
  const underWay = new Set<Promise<void>>();
  const began = Date.now();
  const timer = setInterval(() => {
    while (underWay.size < AT_ONCE && turns.length < ((Date.now() - began) / 1000) * perSecond) {
      const turn = newTurn(run, turns.length);
      turns.push(turn);
      const sending = untilAccepted(fleet, turn).finally(() => underWay.delete(sending));
      underWay.add(sending);
    }
  }, 10);
  return {
    turns,
    stop: async () => {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}

function newTurn(run: number, n: number): SentTurn {
  const name = `sent ${run} turn ${n}`;
  const sent = JSON.stringify({
    provider: 'openai',
    request: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: `${name}|` }] },
    response: { message: { content: `Answer to ${name}` }, stop_reason: 'stop' },
    meta: { request_id: name, upstream_status: 200 },
    session: { harness_id: 'faults', harness_session_id: `sent ${run} ${n % 8}` },
  });
  return { name, sent, accepted: false, tries: 0 };
}

async function untilAccepted(fleet: Fleet, turn: SentTurn): Promise<void> {
  while (!turn.accepted) {
    const up = fleet.of('ingest').flatMap(({ service }) => (service ? [service.ingest] : []));
    const to = up[turn.tries++ % Math.max(1, up.length)];
    const status = to === undefined ? 0 : await post(to, turn.sent);
    if (status === 202) turn.accepted = true;
    else if (status !== 0 && status !== 503) throw new Error(`"${turn.name}" was answered with ${status}`);
    else await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}

/** 0: no response came. */
const post = (ingest: string, body: string): Promise<number> =>
  fetch(`${ingest}/v1/ingest`, { method: 'POST', headers: { 'content-type': 'application/json' }, body }).then(
    async (response) => {
      await response.text();
      return response.status;
    },
    () => 0,
  );
