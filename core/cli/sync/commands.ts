/** The commands of 'svc sync', and their arguments. */
import type { Command } from 'commander';
import { OperatorError } from '../../errors.ts';
import type { CommandParts } from '../command-parts.ts';
import { addConfigOptions } from '../options.ts';

export function addSyncCommands(program: Command, { io, loaded, exit }: CommandParts): void {
  addConfigOptions(program.command('sync'))
    .description('send the transcripts that Claude Code, Codex and other harnesses left on this machine to the service')
    .option('--since-days <days>', 'only files that were changed within so many days')
    .option('--dry-run', 'list what would be sent, and send nothing')
    .option(
      '--even-recorded',
      'also of a harness that was recorded without the names of its sessions: those count twice',
    )
    .option('--json', 'as one JSON document')
    .addHelpText('after', HELP)
    .action(async ({ json, dryRun, evenRecorded, sinceDays, ...parsed }: Record<string, unknown>) => {
      const { sync } = await import('./sync.ts');
      const options = {
        ...{ json: json === true, dryRun: dryRun === true, sinceDays: daysIn(sinceDays) },
        evenRecorded: evenRecorded === true,
        isTerminal: process.stderr.isTTY === true,
      };
      exit(await sync(loaded(parsed), options, io));
    });
}

/** null: however old they are. */
function daysIn(value: unknown): number | null {
  if (typeof value !== 'string') return null;
  const days = Number(value);
  if (value.trim() !== '' && Number.isFinite(days) && days > 0) return days;
  throw new OperatorError('Cannot sync: --since-days must be a number above 0', 2);
}

const HELP = `
What was sent before and has not changed is not sent again; the service stores nothing twice. It can be stopped at any time, and
goes on where it was.

  svc sync --dry-run
  svc sync --since-days 30

The exit status is 1 when the service is not there, or refuses a file.`;
