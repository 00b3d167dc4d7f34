/** Do we say what ccusage says of the same folder? Tokens and money by day and model, in whatever order the files come. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadDailyUsageData } from 'ccusage/data-loader';
import { logger } from 'ccusage/logger';
import * as assert from 'uvu/assert';
import type { Reader } from '../../../../core/call/reader.ts';
import { builtIn } from '../../../../core/call/reader.ts';
import { parsePriceTable, pricesWith } from '../../../../core/price/price-file.ts';
import { claudeFolder, type FolderFile, MODELS, uploadsOf, writeFolder } from '../../../support/claude-folder.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { testTranscripts, upload } from '../../../support/transcript-uploads.ts';

logger.level = 0;

type Day = { day: string; model: string; input: number; output: number; cost: number };

/** @param files in UTC, offline, at the rates of its own table */
async function asCcusage(files: readonly FolderFile[]): Promise<Day[]> {
  const base = await mkdtemp(join(tmpdir(), 'svc-ccusage-'));
  try {
    await writeFolder(base, files);
    const days = await loadDailyUsageData({
      ...{ claudePath: base, mode: 'calculate', offline: true, timezone: 'UTC', order: 'asc' },
    });
    return days.flatMap(({ date, modelBreakdowns }) =>
      modelBreakdowns.map((one) => ({
        ...{ day: String(date), model: String(one.modelName), output: one.outputTokens, cost: one.cost },
        input: one.inputTokens + one.cacheCreationTokens + one.cacheReadTokens, // ours includes what the cache took and gave
      })),
    );
  } finally {
    await rm(base, { recursive: true });
  }
}

/** What its table asks for a million tokens of each kind, found by calls that use nothing else: tiers begin at 200,000. */
async function itsPrices(): Promise<Reader> {
  const rate = async (model: string, kind: string) => {
    const usage = { input_tokens: 0, output_tokens: 0, [kind]: 100_000 };
    const message = { id: 'msg_1', role: 'assistant', model, content: [], usage };
    const record = { type: 'assistant', sessionId: 's', uuid: 'u', parentUuid: null, requestId: 'req_1', message };
    const timed = { ...record, version: '2.0.14', timestamp: '2026-07-27T09:00:00.000Z' };
    const [day] = await asCcusage([{ path: 'p/s.jsonl', session: 's', agent_id: '', records: [timed] }]);
    return Number(((day?.cost ?? 0) * 10).toFixed(6));
  };
  const rows = await Promise.all(
    MODELS.map(async (model) => [
      model,
      {
        input: await rate(model, 'input_tokens'),
        output: await rate(model, 'output_tokens'),
        cache_read: await rate(model, 'cache_read_input_tokens'),
        cache_write: await rate(model, 'cache_creation_input_tokens'),
      },
    ]),
  );
  const table = parsePriceTable(JSON.stringify(Object.fromEntries(rows)));
  return { ...builtIn, priceOf: pricesWith(table, () => null) };
}

databaseSuite('ccusage', (test, database) => {
  let reader: Reader;
  test.before(async () => {
    reader = await itsPrices();
  });

  /** By the calls' own days, as the statistics have them. */
  const asStored = async (): Promise<Day[]> => {
    const rows = await database().sql(`
      select to_char(day, 'YYYY-MM-DD') as day, model, sum(input_tokens)::bigint as input, sum(output_tokens)::bigint as output,
             sum(cost_usd)::double precision as cost
        from svc.stat_days group by day, model having sum(output_tokens) > 0`);
    return rows.map(({ day, model, input, output, cost }) => ({
      ...{ day: String(day), model: String(model) },
      ...{ input: Number(input), output: Number(output), cost: Number(cost) },
    }));
  };
  const sorted = (days: readonly Day[]) =>
    [...days]
      .sort((a, b) => `${a.day} ${a.model}`.localeCompare(`${b.day} ${b.model}`))
      .map(({ cost, ...day }) => ({ ...day, cost: cost.toFixed(4) }));
  const sums = async (from: string) => {
    const [row] = await database().sql(`
      select coalesce(sum(input_tokens + output_tokens), 0)::bigint as tokens, sum(cost_usd)::numeric(20, 4)::text as cost from ${from}`);
    return [Number(row?.tokens), row?.cost];
  };

  for (const [seed, order] of [
    [1, 'as they were made'],
    [2, 'copies first'],
    [3, 'one by one, copies first'],
    [4, 'shuffled'],
  ] as const)
    test(`a folder with resumes, forks, split messages, sidechains, agents' files and copies (${order})`, async () => {
      await database().reset();
      const files = claudeFolder(seed, { sessions: 12 });
      const uploads = uploadsOf(
        order === 'shuffled' ? shuffled(files) : order === 'as they were made' ? files : files.toReversed(),
      );
      for (const one of uploads) {
        await upload(testTranscripts(database()), one);
        if (order === 'one by one, copies first') await deriveAll(database(), reader);
      }
      await deriveAll(database(), reader);
      const theirs = await asCcusage(files);
      assert.ok(theirs.length > 3);
      assert.equal(sorted(await asStored()), sorted(theirs));
      const whole = await sums('svc.stat_days');
      for (const table of ['svc.session_rollups', 'svc.traces', 'svc.spans', 'svc.nodes', 'svc.stat_cells'])
        assert.equal(await sums(table), whole, table);
      const [inherited] = await database().sql('select sum(inherited_calls)::int as calls from svc.session_rollups');
      assert.ok(Number(inherited?.calls) > 0, 'there were copies');
    });
});

const shuffled = (files: readonly FolderFile[]): FolderFile[] =>
  files.toSorted((one, other) => (one.session < other.session ? -1 : 1));
