/** `svc stats` and `svc coverage`: what was recorded in a window of time, and how each request ended. */
import pc from 'picocolors';
import type { CoverageReport } from '../../api/coverage.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { Stats } from '../../model/stats.ts';
import { openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { printJson } from '../print-response.ts';
import { counted, dollars, plain, several } from '../units.ts';
import { table } from './table.ts';

type StatsOptions = { filter: Readonly<Record<string, string>>; json: boolean };

/** @param filter parameters of GET /v1/stats */
export async function printStats({ filter, json }: StatsOptions, loaded: LoadedConfig, io: Io): Promise<void> {
  const api = await openApiClient(loaded);
  const path = `/v1/stats?${new URLSearchParams(filter)}`;
  const stats = await api.json<Stats>({ path, what: 'read the statistics' });
  if (json) return printJson(stats, io);
  const { session_count, turn_count, input_tokens, output_tokens, total_cost, tool_calls, unpriced_models } = stats;
  const unpriced = unpriced_models.length === 0 ? '' : `, without ${unpriced_models.map(plain).join(', ')}`;
  const rows: [string, string][] = [
    ['sessions', counted(session_count)],
    ['messages', counted(turn_count)],
    ['tool calls', counted(tool_calls)],
    ['tokens in', counted(input_tokens)],
    ['tokens out', counted(output_tokens)],
    ['cost', `${dollars(total_cost)}${unpriced}`],
  ];
  io.out(rows.map(([name, value]) => `${pc.cyan(name.padEnd(11))} ${value}\n`).join(''));
}

export async function printCoverage({ json }: { json: boolean }, loaded: LoadedConfig, io: Io): Promise<void> {
  const api = await openApiClient(loaded);
  const coverage = await api.json<CoverageReport>({ path: '/v1/coverage', what: 'read the coverage' });
  if (json) return printJson(coverage, io);
  const { requests, outcomes, by_provider, by_day } = coverage;
  const total = { name: 'all', requests, outcomes };
  const rows = [
    ...Object.entries(by_provider).map(([name, ledger]) => ({ name, ...ledger })),
    ...by_day.map(({ day, ...ledger }) => ({ name: day, ...ledger })),
    total,
  ];
  const seen = Object.keys(outcomes).filter((name) => outcomes[name as keyof typeof outcomes] > 0);
  if (requests === 0) return void io.err('No request came in yet\n');
  io.out(
    table(
      rows,
      [
        { title: 'OF', text: ({ name }) => name },
        { title: 'REQUESTS', text: (row) => counted(row.requests), align: 'right' },
        ...seen.map((name) => ({
          title: name.toUpperCase(),
          text: (row: typeof total) => counted(row.outcomes[name as keyof typeof outcomes]),
          align: 'right' as const,
        })),
      ],
      io.columns,
    ),
  );
  const lost = requests - outcomes.captured - outcomes.partial;
  if (lost > 0) io.err(pc.dim(`${several(lost, 'request')} left no turn; core/README.md says what each word means\n`));
}
