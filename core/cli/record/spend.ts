/** `svc stats --by`: what was spent, by key, and by day or hour where that is wanted, with the cost in its parts. */
import pc from 'picocolors';
import type { LoadedConfig } from '../../config/load.ts';
import type { SeriesCell, StatsSeries } from '../../model/stats-series.ts';
import { openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { printJson } from '../print-response.ts';
import { counted, dollars, plain } from '../units.ts';
import { type TableColumn, table } from './table.ts';

type SpendOptions = {
  filter: Readonly<Record<string, string>>;
  by: 'model' | 'project' | 'agent_name' | 'provider';
  /** Undefined: the sums of the whole window. */
  bucket: 'day' | 'hour' | undefined;
  json: boolean;
};

type Row = { at: string; key: string; cell: SeriesCell };

const MOST_KEYS = 12;

/** @param filter parameters of GET /v1/stats */
export async function printSpend(
  { filter, by, bucket, json }: SpendOptions,
  loaded: LoadedConfig,
  io: Io,
): Promise<void> {
  const api = await openApiClient(loaded);
  const path = `/v1/stats/series?${new URLSearchParams({ ...filter, by, ...(bucket && { bucket }) })}`;
  const series = await api.json<StatsSeries>({ path, what: 'read the statistics' });
  if (json) return printJson(series, io);
  if (series.total.turn_count === 0) return void io.err('Nothing was recorded in this window\n');
  const rows = rowsOf(series, bucket);
  io.out(table(rows, columnsOf(by, bucket), io.columns));
  for (const { model, tokens } of series.unpriced_models)
    io.err(pc.dim(`No price is known for ${plain(model)}: its ${counted(tokens)} tokens are in no cost\n`));
}

function rowsOf({ keys, points, totals, total }: StatsSeries, bucket: SpendOptions['bucket']): Row[] {
  const label = (place: number) => (place < MOST_KEYS ? keys[place] || '(none)' : 'all others');
  const all = { at: '', key: 'all', cell: total };
  if (bucket === undefined) return [...totals.map((cell, place) => ({ at: '', key: label(place), cell })), all];
  const shown = (at: string) => (bucket === 'day' ? at.slice(0, 10) : `${at.slice(0, 13).replace('T', ' ')}h`);
  return [
    ...points.flatMap(({ at, cells }) =>
      cells.flatMap((cell, place) => (cell ? [{ at: shown(at), key: label(place), cell }] : [])),
    ),
    all,
  ];
}

/** A key without any price has no cost, which is not a cost of 0. */
const costText = (usd: number, { cost_usd, unpriced_tokens }: SeriesCell) =>
  dollars(cost_usd === 0 && unpriced_tokens > 0 ? null : usd);

function columnsOf(by: string, bucket: SpendOptions['bucket']): TableColumn<Row>[] {
  const money = (title: string, usd: (cell: SeriesCell) => number, drops?: number): TableColumn<Row> => ({
    title,
    text: ({ cell }) => costText(usd(cell), cell),
    align: 'right',
    ...(drops !== undefined && { drops }),
  });
  return [
    ...(bucket ? [{ title: bucket.toUpperCase(), text: ({ at }: Row) => at }] : []),
    { title: by === 'agent_name' ? 'AGENT' : by.toUpperCase(), text: ({ key }) => key },
    money('COST', ({ cost_usd }) => cost_usd),
    money('FRESH', ({ cost }) => cost.fresh, 5),
    money('READ', ({ cost }) => cost.cache_read, 4),
    money('WRITTEN', ({ cost }) => cost.cache_write_5m + cost.cache_write_1h, 4),
    money('OUTPUT', ({ cost }) => cost.output, 5),
    money('REASONING', ({ cost }) => cost.reasoning, 6),
    { title: 'TOKENS IN', text: ({ cell }) => counted(cell.input_tokens), align: 'right', drops: 3 },
    { title: 'OUT', text: ({ cell }) => counted(cell.output_tokens), align: 'right', drops: 3 },
  ];
}
