/** How long commands take, beside a Node that runs nothing, in the same run: what is typed daily, and what a harness starts after every message. */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { buildService } from '../support/built-service.ts';
import { emptyFolder, removeFolder, startService } from '../support/serve.ts';
import { bounded, heading, median, row } from './figures.ts';

const ROUNDS = 25;
const BARS = { help: 3, reading: 3, statusline: 1.5 }; // times a bare Node

export async function benchCommands(): Promise<void> {
  const built = await emptyFolder();
  const folder = await emptyFolder();
  const svc = await buildService(join(built, 'package'));
  const statusline = join(dirname(svc), '../../bundle/core.cli.statusline.main.cjs');
  const service = await startService(folder, {}, [svc]);
  try {
    await fetch(`${service.api}/v1/admin/seed/demo`, { method: 'POST' });
    const { items } = (await (await fetch(`${service.api}/v1/sessions`)).json()) as { items: object[] };
    const input = JSON.stringify({ session_id: Reflect.get(items[0] ?? {}, 'harness_session_id'), cwd: folder });
    const runs: Record<string, { args: string[]; bar: number | null }> = {
      'node -e 0': { args: ['-e', '0'], bar: null },
      'svc-statusline': { args: [statusline], bar: BARS.statusline },
      'svc --version': { args: [svc, '--version'], bar: BARS.help },
      'svc --help': { args: [svc, '--help'], bar: BARS.help },
      'svc status': { args: [svc, 'status'], bar: BARS.reading },
      'svc config list': { args: [svc, 'config', 'list'], bar: BARS.reading },
      'svc open --print': { args: [svc, 'open', '--print'], bar: BARS.reading },
    };
    const times = new Map<string, number[]>(Object.keys(runs).map((name) => [name, []]));
    for (let round = -2; round < ROUNDS; round++)
      for (const [name, { args }] of Object.entries(runs)) {
        const from = performance.now();
        spawnSync(process.execPath, args, { cwd: folder, input, env: { PATH: process.env.PATH, HOME: folder } });
        if (round >= 0) times.get(name)?.push(performance.now() - from); // the first ones fill caches
      }
    const bare = median(times.get('node -e 0') ?? []);
    heading('Commands, as times of a Node that runs nothing');
    for (const [name, { bar }] of Object.entries(runs)) {
      const took = median(times.get(name) ?? []);
      if (bar === null) row(name, `${took.toFixed(0)} ms`);
      else bounded(name, took / bare, bar, (value) => `${value.toFixed(2)} x`);
    }
  } finally {
    await service.stop();
    await Promise.all([built, folder].map(removeFolder));
  }
}
