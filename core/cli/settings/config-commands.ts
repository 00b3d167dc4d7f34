/** The commands of `svc config`, and their arguments. */
import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';

type WriteFlags = { home?: boolean; force?: boolean; json?: boolean };

export function addConfigCommands(program: Command, { io, loaded }: CommandParts): void {
  const config = program.command('config').description('show and change the settings, which stand in .svc/config.toml');

  config
    .command('list')
    .description('show every setting with its value and what sets it; secrets as [redacted]')
    .argument('[section]', 'those of one section alone, such as proxy')
    .option('--changed', 'those alone that are not at their default')
    .option('--json', 'as one JSON document')
    .action(async (section: string | undefined, { changed, json }: { changed?: boolean; json?: boolean }) => {
      const options = { section: section ?? null, changedOnly: changed === true, json: json === true };
      (await import('./read-settings.ts')).listSettings(loaded({}), options, io);
    });

  config
    .command('get')
    .description('print the value of a setting; the items of a list on a line each, a secret as [redacted]')
    .argument('<key>', 'such as proxy.listen')
    .option('--show-secret', 'print a secret as it is')
    .option('--json', 'as one JSON document, with what sets it')
    .action(async (key: string, { showSecret, json }: { showSecret?: boolean; json?: boolean }) => {
      const options = { isRevealed: showSecret === true, json: json === true };
      (await import('./read-settings.ts')).getSetting(key, loaded({}), options, io);
    });

  withWriteOptions(config.command('set'))
    .description('change a setting in the file in effect; comments, order and form of the file stay')
    .argument('<key>', 'such as proxy.listen')
    .argument('[value...]', 'several for a list; of a secret none: it is typed without being shown, or piped')
    .addHelpText('after', WHERE)
    .action(async (key: string, values: string[], flags: WriteFlags) => {
      const { hiddenInput } = await import('../hidden-input.ts');
      await (await import('./write-settings.ts')).setSetting(key, values, writeOptions(flags), io, hiddenInput);
    });

  withWriteOptions(config.command('unset'))
    .description('remove a setting from the file in effect, so that its default counts again')
    .argument('<key>', 'such as proxy.listen')
    .addHelpText('after', WHERE)
    .action(async (key: string, flags: WriteFlags) => {
      (await import('./write-settings.ts')).unsetSetting(key, writeOptions(flags), io);
    });

  config
    .command('path')
    .description('print the path of the file in effect, or of the one that would be made')
    .option('--home', 'that of the home folder')
    .option('--json', 'as one JSON document')
    .action(async ({ home, json }: { home?: boolean; json?: boolean }) => {
      (await import('./read-settings.ts')).printPath(home === true, { json: json === true }, io);
    });
}

const withWriteOptions = (command: Command): Command =>
  command
    .option('--home', 'in the file of the home folder')
    .option('--force', 'even if svc would not start with it')
    .option('--json', 'as one JSON document');

const writeOptions = ({ home, force, json }: WriteFlags) => ({
  isHome: home === true,
  force: force === true,
  json: json === true,
});

const WHERE = `
The file in effect is .svc/config.toml here, else in your home folder; 'svc config path' prints it. A value that begins with a dash
follows two of them: svc config set proxy.project -- -x`;
