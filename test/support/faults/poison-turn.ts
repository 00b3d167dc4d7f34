/** A turn that the database refuses, among others: the others are stored, it is set aside with its bytes, and stored once that is mended. */
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { openPool } from '../../../core/db/client/server.ts';
import { openDatabase } from '../../../core/db/open.ts';
import { openLog } from '../../../core/log.ts';
import { startTestThread } from '../databases.ts';
import { rawSql } from '../raw-sql.ts';
import { eventually, type Service } from '../serve.ts';
import { compare, type Figures, ledger, settled, storedTurns } from './kept.ts';
import { answerOf, askProxy, type Call, newCall } from './load.ts';
import { assertLedger } from './outage.ts';
import { type FaultStand, faultStand, type StandOptions } from './stand.ts';

const POISON_RUN = 666; // a session of its own, so that the refusal can name it

/** Makes the database refuse turns of one session by a trigger, with an error that a retry does not help. */
const REFUSE = [
  `create function svc.refuse_poison() returns trigger language plpgsql as $body$
  begin
    raise exception using errcode = '22P02', message = 'refused';
  end $body$`,
  `create trigger refuse_poison before insert on svc.sessions
    for each row when (new.harness_session_id like '% ${POISON_RUN}') execute function svc.refuse_poison()`,
];

/** @param options.through cannot be used here, since the test queries the database too */
export async function poisonAmongOthers(
  options: StandOptions,
  { calls: count, poison }: { calls: number; poison: number },
): Promise<Figures & { parked: number }> {
  const stand = await faultStand(options);
  let service: Service | null = null;
  try {
    const refuse = async () => {
      for (const statement of REFUSE) await runSql(stand, statement);
    };
    if (stand.dsn === '') await refuse(); // while no process has it open
    service = await stand.start();
    if (stand.dsn !== '') await refuse(); // now its tables exist
    const running = service;
    const calls = Array.from({ length: count }, (_, n) => {
      const bad = n % Math.floor(count / poison) === 1;
      return newCall(`question ${n}`, n % 3 === 0 ? 'stream' : 'small', bad ? POISON_RUN : 1);
    });
    const bad = calls.filter(({ run }) => run === POISON_RUN);
    await Promise.all(calls.map((call) => askProxy(running, call)));
    const all: Call[] = [...calls, await settled(service, 2)];
    const { missing, ...figures } = compare(all, await storedTurns(service));
    assert.equal(missing, bad, 'all others are stored');
    await assertLedger(service, { captured: all.length - bad.length, poison: bad.length });
    assert.is(await service.stop(), 0);
    service = null;

    const parked = await runSql(
      stand,
      `select reason, convert_from(request_body, 'UTF8') as request, convert_from(response_body, 'UTF8') as response
         from svc.parked_turns order by svc_proxy_request_id`,
    );
    const asText = (call: Call) => ({ request: call.sent, response: answerOf(call).toString() });
    const byRequest = (a: { request: string }, b: { request: string }) => (a.request < b.request ? -1 : 1);
    assert.equal(
      parked.map(({ request, response }) => ({ request: String(request), response: String(response) })).sort(byRequest),
      bad.map(asText).sort(byRequest),
      'with all their bytes',
    );
    for (const { reason } of parked) assert.match(String(reason), /22P02/);

    await runSql(stand, 'drop trigger refuse_poison on svc.sessions');
    service = await stand.start();
    const mended = service;
    await eventually('what was set aside to be stored', async () => {
      const { outcomes } = await ledger(mended);
      return outcomes.poison === 0;
    });
    await assertLedger(service, { captured: all.length, poison: 0 });
    assert.equal(compare(all, await storedTurns(service)).missing, [], 'whole, with all its bytes');
    return { ...figures, parked: parked.length };
  } finally {
    if (service) assert.is(await service.stop(), 0);
    await stand.close();
  }
}

/** Queries the database itself, while no service has it open. */
async function runSql({ dsn, folder }: FaultStand, text: string): Promise<Record<string, unknown>[]> {
  if (dsn !== '') {
    const pool = openPool({ dsn, pooled: false, size: 1 });
    return rawSql(pool.sqlFor(60_000), { text, params: [] }).finally(pool.close);
  }
  const log = openLog('silent');
  const database = await openDatabase({
    dsn: '',
    pooled: false,
    folder: join(folder, '.svc'),
    log,
    startThread: startTestThread,
  });
  const run = database.execute as unknown as (name: string, args: unknown) => Promise<Record<string, unknown>[]>;
  return run('rawSql', { text, params: [] }).finally(() => database.close());
}
