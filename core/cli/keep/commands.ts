/** The commands that keep the record: backup, restore, purge, forget, tokens and the demo's sessions; and their arguments. */
import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';
import { addConfigOptions } from '../options.ts';

export function addKeepCommands(program: Command, { io, loaded, exit, version }: CommandParts): void {
  addConfigOptions(program.command('backup'))
    .description('write everything that cannot be derived again into one file, while the service runs')
    .requiredOption('-o, --output <file>', "the file to write; '-' is stdout")
    .option('--json', 'what was written, as one JSON document')
    .action(async ({ output, json, ...parsed }: Record<string, unknown>) => {
      const { backUp } = await import('./backup.ts');
      await backUp(loaded(parsed), { output: String(output), json: json === true, version }, io);
    });

  addConfigOptions(program.command('restore'))
    .description('write a backup into an empty database, derive its sessions and verify them; while no service runs')
    .argument('<file>', "what 'svc backup' has written")
    .option('--without-cassettes', 'leave out the tables of cassettes')
    .option('--json', 'what was restored, as one JSON document')
    .action(async (file: string, { withoutCassettes, json, ...parsed }: Record<string, unknown>) => {
      const { restore } = await import('./restore.ts');
      exit(await restore(loaded(parsed), { file, cassettes: withoutCassettes !== true, json: json === true }, io));
    });
}
