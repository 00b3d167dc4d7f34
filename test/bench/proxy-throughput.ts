/** How many requests a second does each route take when nobody waits, and how long do they take then? Is each of ours captured? */
import autocannon from 'autocannon';
import { read } from '../support/serve.ts';
import { bounded, heading, median, perSecond, row } from './figures.ts';
import type { Route } from './proxy-rate.ts';

const ROUNDS = 3; // in turn, so that a busy moment of the machine is everybody's
const SECONDS = 5;
const CONNECTIONS = 8;
const BEFORE = 'http-proxy-3'; // the neighbour that the bars are of
const BARS = { share: 0.85, p99: 1.5 };

type Round = { rate: number; p99: number };
type Options = { routes: readonly Route[]; ours: Route; api: string; body: string };
export type Throughput = { rates: Map<Route, number>; captured: string };

/** @param api the read API of `ours`, which counts what is captured */
export async function throughput({ routes, ours, api, body }: Options): Promise<Throughput> {
  heading(`Throughput, ${CONNECTIONS} connections, small requests, ${ROUNDS} times ${SECONDS} s each`);
  row('', 'requests', 'lowest', 'highest', 'p99');
  const before = await drained(api, 0);
  const rounds = new Map<Route, Round[]>(routes.map((route) => [route, []]));
  let answered = 0;
  let drainMs = 0;
  for (let round = 0; round < ROUNDS; round++)
    for (const route of routes) {
      const { requests, latency, ...result } = await autocannon({
        url: route.url,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...route.headers },
        body,
        connections: CONNECTIONS,
        duration: SECONDS,
      });
      if (result.non2xx + result.errors > 0) console.log(`  ${route.name}: ${result.non2xx + result.errors} failed`);
      rounds.get(route)?.push({ rate: requests.average, p99: latency.p99 });
      if (route !== ours) continue;
      answered += result['2xx'];
      const from = performance.now();
      await drained(api, answered + before.captured + before.others); // what is stored now would be taken from the next one's time
      drainMs += performance.now() - from;
    }
  const rates = new Map<Route, number>();
  for (const [route, of] of rounds) {
    const each = of.map(({ rate }) => rate);
    rates.set(route, median(each));
    const p99 = `${median(of.map((one) => one.p99))} ms`;
    row(route.name, perSecond(median(each)), perSecond(Math.min(...each)), perSecond(Math.max(...each)), p99);
  }
  for (const [route, rate] of rates)
    if (route !== ours) row(`svc / ${route.name}`, `${((rates.get(ours) ?? 0) / rate).toFixed(2)} x`);
  printBars(rounds, ours);
  return { rates, captured: await printLedger(api, { before, answered, drainMs }) };
}

function printBars(rounds: ReadonlyMap<Route, Round[]>, ours: Route): void {
  const neighbour = [...rounds.keys()].find(({ name }) => name === BEFORE);
  if (!neighbour) return;
  const middle = (route: Route, of: (round: Round) => number) => median((rounds.get(route) ?? []).map(of));
  const times = (value: number) => `${value.toFixed(2)} x`;
  bounded(`${BEFORE} / svc`, middle(neighbour, rateOf) / middle(ours, rateOf), 1 / BARS.share, times);
  bounded(`p99, svc / ${BEFORE}`, middle(ours, p99Of) / middle(neighbour, p99Of), BARS.p99, times);
}

const rateOf = ({ rate }: Round) => rate;
const p99Of = ({ p99 }: Round) => p99;

type Sent = { before: Ledger; answered: number; drainMs: number };

async function printLedger(api: string, { before, answered, drainMs }: Sent): Promise<string> {
  const total = await drained(api, answered + before.captured + before.others);
  const counted = { captured: total.captured - before.captured, others: total.others - before.others };
  const seconds = (drainMs / 1000).toFixed(0);
  row('drain', `${seconds} s`);
  row('answered by svc, captured, not kept', String(answered), String(counted.captured), String(counted.others));
  // a request that was under way when the time was up is captured, and the client did not wait for its answer
  const cut = ROUNDS * CONNECTIONS;
  const isValid = counted.others === 0 && counted.captured >= answered && counted.captured <= answered + cut;
  console.log(isValid ? '  valid: every request is captured' : '  NOT VALID: requests and captured turns differ');
  return `${isValid ? 'all' : `${counted.captured} of ${answered}`}, ${seconds} s drain`;
}

type Ledger = { captured: number; others: number };

async function ledger(api: string): Promise<Ledger> {
  const { requests, outcomes } = await read<{ requests: number; outcomes: Record<string, number> }>(
    `${api}/v1/coverage`,
  );
  // the last of the connections are cut when the time is up, and what they had is kept as partial
  const captured = (outcomes.captured ?? 0) + (outcomes.partial ?? 0);
  return { captured, others: requests - captured };
}

/** What is booked once nothing more comes, and so many requests are; should they never be, then after a while. */
async function drained(api: string, requests: number): Promise<Ledger> {
  let last = await ledger(api);
  for (let still = 0; still < (last.captured + last.others < requests ? 60 : 6); ) {
    await new Promise((done) => setTimeout(done, 500));
    const now = await ledger(api);
    still = now.captured + now.others === last.captured + last.others ? still + 1 : 0;
    last = now;
  }
  return last;
}
