/** How long commands take, beside a Node that runs nothing, in the same run: what is typed daily, and what a harness starts after every message. */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { buildService } from '../support/built-service.ts';
import { emptyFolder, removeFolder, startService } from '../support/serve.ts';
import { bounded, heading, median, row } from './figures.ts';

const ROUNDS = 25;
const BARS = { typed: 3, statusline: 1.5 }; // times a bare Node

export async function benchCommands(): Promise<void> {
  const built = await emptyFolder();
  const folder = await emptyFolder();
  const svc = await buildService(join(built, 'package'));
  const bundled = (name: string) => join(dirname(svc), '../../bundle', name);
  const [program, statusline] = [bundled('core.cli.main.cjs'), bundled('core.cli.statusline.main.cjs')]; // as `bin` of package.json
  const service = await startService(folder, {}, [svc]);
  try {
    await fetch(`${service.api}/v1/admin/seed/demo`, { method: 'POST' });
    const { items } = (await (await fetch(`${service.api}/v1/sessions`)).json()) as { items: object[] };
    const input = JSON.stringify({ session_id: Reflect.get(items[0] ?? {}, 'harness_session_id'), cwd: folder });
    const typed = (...commands: string[][]) =>
      Object.fromEntries(
        commands.map((words) => [`svc ${words.join(' ')}`, { args: [program, ...words], bar: BARS.typed }]),
      );
    const runs: Record<string, { args: string[]; bar: number | null }> = {
      'node -e 0': { args: ['-e', '0'], bar: null },
      'svc-statusline': { args: [statusline], bar: BARS.statusline },
      ...typed(['--version'], ['--help']),
      ...typed(
        ['sessions'],
        ['sessions', 'show', 'last'],
        ['traces', 'last'],
        ['stats'],
        ['coverage'],
        ['find', 'test'],
      ),
      ...typed(['status'], ['config', 'list'], ['open', '--print']),
    };
    const times = new Map<string, number[]>(Object.keys(runs).map((name) => [name, []]));
    for (let round = -2; round < ROUNDS; round++)
      for (const [name, { args }] of Object.entries(runs)) {
        const from = performance.now();
        const env = { PATH: process.env.PATH, HOME: folder };
        const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, input, env, encoding: 'utf8' });
        if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`);
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
