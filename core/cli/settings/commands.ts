/** The commands with which one sets svc up, and their arguments. */
import type { Command } from 'commander';
import { choiceArgument, choiceOption } from '../choices.ts';
import type { CommandParts } from '../command-parts.ts';
import { addConfigCommands } from './config-commands.ts';
import { PRESETS } from './presets.ts';

type InitFlags = { preset?: string[]; home?: boolean; force?: boolean; json?: boolean };

export function addSettingsCommands(program: Command, parts: CommandParts): void {
  const { io, version, exit } = parts;

  program
    .command('init')
    .description('make .svc/config.toml here, in which every setting is explained')
    .addOption(
      choiceOption(
        '--preset <name>',
        'settings to start with; may stand several times',
        PRESETS.map(({ name }) => name),
      ).argParser(collected),
    )
    .option('--home', 'in the home folder, for wherever there is no other')
    .option('--force', 'even if there is one: it is written anew')
    .option('--json', 'as one JSON document')
    .addHelpText('after', `\nPresets:\n${PRESETS.map(({ name, what }) => `  ${name.padEnd(10)} ${what}`).join('\n')}`)
    .action(async ({ preset = [], home, force, json }: InitFlags) => {
      const options = { presets: preset, isHome: home === true, force: force === true, json: json === true };
      (await import('./init.ts')).initSettings(options, io);
    });

  addConfigCommands(program, parts);

  program
    .command('statusline')
    .description(
      "print one line for a harness's status bar: cost, tokens and context of its session, and whether it is recorded",
    )
    .addHelpText('after', STATUSLINE)
    .action(async () => {
      const { statusline } = await import('../statusline/statusline.ts');
      const { env, cwd, home } = io;
      io.out(`${await statusline({ stdin: process.stdin, env, cwd, home })}\n`);
    });

  program
    .command('version')
    .description('print the version, that of Node, and where svc is installed')
    .option('--check', 'and whether there is a newer one: your own npm is called for it')
    .option('--json', 'as one JSON document')
    .addHelpText('after', VERSION)
    .action(async ({ check, json }: { check?: boolean; json?: boolean }) => {
      const options = { isChecked: check === true, json: json === true };
      exit(await (await import('./version.ts')).printVersion(version, options, io));
    });

  program
    .command('completion')
    .description('print a script by which a shell completes commands, options and settings')
    .addArgument(choiceArgument('<shell>', 'for which one', ['bash', 'zsh', 'fish']))
    .addHelpText('after', COMPLETION)
    .action(async (shell: string) => {
      (await import('./completion/print.ts')).printCompletion(shell, program, io);
    });
}

const collected = (value: string, before: string[] = []): string[] => [...before, ...value.split(',')];

const COMPLETION = `
In ~/.bashrc:                    eval "$(svc completion bash)"
In ~/.zshrc, after compinit:     source <(svc completion zsh)
In ~/.config/fish/config.fish:   svc completion fish | source`;

const STATUSLINE = `
The harness passes what it knows as JSON on stdin. In its settings, with the program of its own that starts sooner, for instance:

  "statusLine": { "type": "command", "command": "svc-statusline" }

It never fails: without a service that has the session within 300 ms the line is 'svc: not recorded'.`;

const VERSION = `
svc looks for no newer version by itself. A service does once a day where update.disabled is set to false. With --check the status
is 1 when the newest version cannot be found, as without a network, and 0 else, whether there is a newer one or not.`;
