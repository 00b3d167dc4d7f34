/** The commands that keep the record: backup, restore, purge, forget, garbage collection, tokens and the demo's sessions; and their arguments. */
import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';
import { addClientOptions, addConfigOptions } from '../options.ts';

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

  addClientOptions(program.command('purge'))
    .description('remove sessions for good, by id, project or time; tombstones say that there were turns')
    .option(
      '--session <id>',
      "this session, by its id or the beginning of it, its number in the last list, or 'last'; may stand several times",
      collected,
    )
    .option('--project <name>', 'the sessions of this project')
    .option('--before <time>', 'sessions that were last seen before: a day, or an RFC 3339 timestamp')
    .option('--after <time>', 'sessions that began then or later')
    .option('--reason <text>', 'stored with the tombstones: do not repeat in it what is to be removed')
    .option('--dry-run', 'show what would be removed')
    .option('-y, --yes', 'do not ask')
    .option('--json', 'what was removed, as one JSON document')
    .action(async ({ session, project, before, after, reason, dryRun, yes, json, ...parsed }: PurgeFlags) => {
      const { purge } = await import('./purge.ts');
      const options = {
        ...{ sessions: session ?? [], project: project ?? null, before: before ?? null, after: after ?? null },
        ...{ reason: reason ?? null, dryRun: dryRun === true, yes: yes === true, json: json === true },
      };
      await purge(loaded(parsed), options, io);
    });

  addClientOptions(program.command('forget'))
    .description('show where a text stands, such as a secret, and remove the sessions that hold it for good')
    .argument('[text]', 'the text; better typed unseen, or from a pipe, since others can see arguments')
    .option('--dry-run', 'show where it stands')
    .option('-y, --yes', 'do not ask')
    .option('--json', 'where it stood and what was removed, as one JSON document')
    .action(async (text: string | undefined, { dryRun, yes, json, ...parsed }: Record<string, unknown>) => {
      const [{ forget }, { hiddenInput }] = await Promise.all([import('./forget.ts'), import('../hidden-input.ts')]);
      const options = { text: text ?? null, dryRun: dryRun === true, yes: yes === true, json: json === true };
      exit(await forget(loaded(parsed), options, io, hiddenInput));
    });

  addConfigOptions(program.command('gc'))
    .description('remove stored bytes that nothing refers to, and give the space of removed sessions back to the disk')
    .option('--json', 'what was removed and what is left, as one JSON document')
    .action(async ({ json, ...parsed }: Record<string, unknown>) => {
      const { collectGarbage } = await import('./gc.ts');
      exit(await collectGarbage(loaded(parsed), { json: json === true }, io));
    });

  const token = program
    .command('token')
    .description('show whether the read API requires a token, and make one')
    .option('--json', 'as one JSON document')
    .action(async ({ json }: { json?: boolean }) => {
      const { showTokens } = await import('./token.ts');
      showTokens(loaded({}), { json: json === true }, io);
    });
  token
    .command('new')
    .description('make a token: a random text, which is printed and stored nowhere')
    .option('--read-only', 'for api.read_token, which reads and changes nothing')
    .action(async (_options: object, command: Command) => {
      const { json, readOnly } = command.optsWithGlobals<{ json?: boolean; readOnly?: boolean }>(); // of either command
      const { newToken } = await import('./token.ts');
      newToken(loaded({}), { readOnly: readOnly === true, json: json === true }, io);
    });

  addClientOptions(program.command('seed'))
    .description("add the demo's sessions to the service that runs, for somebody who has none yet")
    .option('--json', 'as one JSON document')
    .action(async ({ json, ...parsed }: Record<string, unknown>) => {
      const { seed } = await import('./seed.ts');
      await seed(loaded(parsed), { json: json === true }, io);
    });
}

type PurgeFlags = {
  session?: string[];
  project?: string;
  before?: string;
  after?: string;
  reason?: string;
  dryRun?: boolean;
  yes?: boolean;
  json?: boolean;
};

const collected = (value: string, before: string[] = []): string[] => [...before, value];
