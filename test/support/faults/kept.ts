/** Compares what the service stores with what its clients saw: every stored turn with its call, and the ledger with them all. */
import * as assert from 'uvu/assert';
import { eventually, read, type Service } from '../serve.ts';
import { answerOf, askProxy, type Call, nameIn, newCall } from './load.ts';

/** What was sent that long before a kill is stored whole: the bar, which the soak holds, and what a test on a busy machine allows. */
export const WRITTEN_MS = { bar: 50, test: 50 * 4 };
const SETTLED_MS = 200_000; // less than a test may be without a line (run.ts), so that a failure says what it waited for

type Side = { encoding: string; body: string };

export type Turn = { outcome: string; ending: string; payload: { request: Side; response?: Side } };

export type Ledger = { requests: number; outcomes: Record<string, number> };

/** `counted` are the calls without a stored turn, which have to be in the ledger with another outcome. */
export type Figures = { calls: number; captured: number; partial: number; counted: number };

export const ledger = ({ api }: Pick<Service, 'api'>): Promise<Ledger> => read<Ledger>(`${api}/v1/coverage`);

export const bytesOf = ({ encoding, body }: Side): Buffer =>
  Buffer.from(body, encoding === 'base64' ? 'base64' : 'utf8');

/** Waits until everything in the journals is stored. It makes a last call and waits for that, since intake is in order. */
export async function settled(service: Pick<Service, 'api' | 'proxy'>, run: number): Promise<Call> {
  const last = newCall(`last of run ${run}`, 'small', run);
  await askProxy(service, last);
  const id = await eventually(
    'the journals to be taken in',
    async () => {
      const sessions = await sessionsOf(service).catch(() => []);
      for (const { id, harness_session_id } of sessions) {
        if (harness_session_id !== `small ${run}`) continue;
        const turns = await turnsOf(service, id).catch(() => []);
        if (turns.some((turn) => nameOf(turn) === last.name)) return id;
      }
      return null;
    },
    SETTLED_MS,
  );
  assert.ok(id);
  return last;
}

/** The calls that the proxy itself has refused to copy for want of room, which needs no database. */
export async function refusals({ api }: Pick<Service, 'api'>): Promise<number> {
  const text = await (await fetch(`${api}/metrics`)).text();
  const found = [...text.matchAll(/^svc_proxy_requests_total\{[^}]*outcome="journal_full"[^}]*\} (\d+)$/gm)];
  return found.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Makes calls until one is not refused, and adds them to `calls`: the proxy notices room some moments after the disk has it. */
export const keptAgain = (service: Pick<Service, 'api' | 'proxy'>, calls: Call[], run: number): Promise<true> =>
  eventually('calls to be kept again', async () => {
    const before = await refusals(service);
    const probe = newCall(`is there room ${calls.length}`, 'small', run);
    calls.push(probe);
    await askProxy(service, probe);
    return (await refusals(service)) === before;
  });

/** All stored turns, by the names of their calls; '' where too little of the request is stored to have the name. */
export async function storedTurns(service: Pick<Service, 'api'>): Promise<Map<string, Turn[]>> {
  const byName = new Map<string, Turn[]>();
  for (const { id } of await sessionsOf(service))
    for (const turn of await turnsOf(service, id)) {
      const name = nameOf(turn);
      byName.set(name, [...(byName.get(name) ?? []), turn]);
    }
  return byName;
}

/**
 * @param killedAt of the run in which the call was made; infinity when it was never killed
 * @param writtenMs before the kill: a call that had ended then is whole
 * @throws what is wrong, with the name of the call
 */
export function compare(
  calls: readonly Call[],
  stored: ReadonlyMap<string, readonly Turn[]>,
  killedAt: (call: Call) => number = () => Number.POSITIVE_INFINITY,
  writtenMs: number = WRITTEN_MS.test,
): Figures & { missing: Call[] } {
  const figures = { calls: calls.length, captured: 0, partial: 0, counted: 0 };
  const missing: Call[] = [];
  for (const call of calls) {
    const [turn, ...more] = stored.get(call.name) ?? [];
    assert.is(more.length, 0, `"${call.name}" is stored ${more.length + 1} times`);
    const endedBefore = call.endedAt === null ? null : killedAt(call) - call.endedAt;
    if (!turn) {
      assert.not(
        endedBefore !== null && endedBefore > writtenMs && endedBefore < Number.POSITIVE_INFINITY,
        `"${call.name}" ended ${endedBefore} ms before the kill and is not stored`,
      );
      missing.push(call);
      continue;
    }
    const { request, response } = turn.payload;
    const received = answerOf(call);
    const storedBody = response ? bytesOf(response) : Buffer.alloc(0);
    if (turn.outcome === 'captured') {
      figures.captured++;
      assert.ok(bytesOf(request).equals(Buffer.from(call.sent)), `the request of "${call.name}" is as it was sent`);
      // a client that was cut off by a kill has received a beginning of what is stored whole
      const seen = call.endedAt === null ? storedBody.subarray(0, received.length) : storedBody;
      assert.ok(seen.equals(received), `the answer to "${call.name}" is as it was heard`);
    } else {
      figures.partial++;
      assert.is(turn.outcome, 'partial', call.name);
      assert.not(
        endedBefore !== null && endedBefore > writtenMs && endedBefore < Number.POSITIVE_INFINITY,
        `"${call.name}" ended ${endedBefore} ms before the kill and is not whole`,
      );
      const both = Math.min(storedBody.length, received.length);
      assert.ok(
        storedBody.subarray(0, both).equals(received.subarray(0, both)),
        `what is kept of "${call.name}" is a beginning`,
      );
    }
  }
  const nameless = stored.get('') ?? [];
  for (const { outcome } of nameless) assert.is(outcome, 'partial');
  figures.partial += nameless.length;
  figures.counted = missing.length - nameless.length;
  return { ...figures, missing };
}

const nameOf = ({ payload }: Turn): string => nameIn(bytesOf(payload.request).toString());

const sessionsOf = async ({ api }: Pick<Service, 'api'>) => {
  const found: { id: string; harness_session_id: string }[] = [];
  for (let cursor = ''; ; ) {
    type Page = { items: typeof found; next_cursor?: string };
    const page = await read<Page>(`${api}/v1/sessions?limit=200${cursor && `&cursor=${cursor}`}`);
    found.push(...page.items);
    if (!page.next_cursor) return found;
    cursor = page.next_cursor;
  }
};

async function turnsOf({ api }: Pick<Service, 'api'>, id: string): Promise<Turn[]> {
  const turns: Turn[] = [];
  for (let cursor = ''; ; ) {
    const page = await read<{ items: Turn[]; next_cursor?: string }>(
      `${api}/v1/sessions/${id}/raw_turns?include=payload&limit=50${cursor && `&cursor=${cursor}`}`,
    );
    turns.push(...page.items);
    if (!page.next_cursor) return turns;
    cursor = page.next_cursor;
  }
}
