/** Budgets are watched by themselves, whatever becomes of the webhook. Over a real socket. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import * as assert from 'uvu/assert';
import { runBudgets } from '../../../../core/engine/budget/run-budgets.ts';
import { openMetrics } from '../../../../core/metrics.ts';
import type { PeriodBudget } from '../../../../core/model/budget-settings.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { eventually } from '../../../support/eventually.ts';
import { NINE_MS, put } from '../../../support/stat-nodes.ts';

const PROJECTS = ['atlas', 'borealis', 'cygnus'];

/** The spend of a project, now. */
const spend = (project: string) => ({
  ...{ project, cost_usd: '2.000000000000', created_us: (Date.now() - NINE_MS) * 1000 },
});

const budget = (project: string): PeriodBudget => ({
  ...{ budget: `projects.${project}.monthly_usd`, project, period: 'month', limit_usd: 1 },
});

/** Takes each request, and never answers. `received`: the projects of the crossings. */
async function startMuteReceiver() {
  const received: string[] = [];
  const server = createServer(async (request) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push(JSON.parse(body).data.project);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { received, url: `http://127.0.0.1:${port}/hook`, close };
}

databaseSuite('runBudgets', (test, database) => {
  test('while a webhook does not answer, budgets are watched on; one delivery is under way, and ends with the loop', async () => {
    await database().sql('truncate svc.budget_crossings restart identity');
    await put(database(), [spend('atlas')]);
    const receiver = await startMuteReceiver();
    const stopping = new AbortController();
    const lines: string[] = [];
    const running = runBudgets({
      database: database(),
      watched: { budgets: PROJECTS.map(budget), webhook: { url: receiver.url, secret: '' } },
      signal: stopping.signal,
      log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) }),
      ...{ metrics: openMetrics('engine'), everyMs: 50, deadlineMs: 120_000 },
    });
    try {
      const crossed = async () =>
        (await database().execute('crossingsAfter', { after: 0, limit: 9 })).map(({ project }) => project);
      await eventually(() => receiver.received.length === 1, 20_000);
      for (const [i, project] of PROJECTS.entries()) {
        await put(database(), PROJECTS.slice(0, i + 1).map(spend));
        await eventually(async () => (await crossed()).includes(project), 20_000); // the POST waits longer
      }
      assert.equal(await crossed(), PROJECTS);
      assert.equal(receiver.received, ['atlas']);
    } finally {
      stopping.abort();
      const began = performance.now();
      await running;
      assert.ok(performance.now() - began < 3_000);
      receiver.close();
    }
    assert.equal(
      lines.filter((line) => !line.startsWith('the webhook')),
      PROJECTS.map(() => 'a budget is exceeded'),
    );
  });

  test('where no budget is set, what was watched is forgotten, and the loop ends', async () => {
    await database().sql(`insert into svc.watched_budgets (budget, limit_usd) values ('daily_usd', 5)`);
    await runBudgets({
      ...{ database: database(), watched: null, signal: new AbortController().signal },
      ...{ log: pino({ level: 'silent' }), metrics: openMetrics('engine') },
    });
    assert.equal(await database().sql('select budget from svc.watched_budgets'), []);
  });
});
