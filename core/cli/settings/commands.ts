/** The commands with which one sets svc up, and their arguments. */
import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';
import { addConfigCommands } from './config-commands.ts';
import { PRESETS } from './presets.ts';

type InitFlags = { preset?: string[]; home?: boolean; force?: boolean; json?: boolean };

export function addSettingsCommands(program: Command, parts: CommandParts): void {
  const { io } = parts;

  program
    .command('init')
    .description('make .svc/config.toml here, in which every setting is explained')
    .option('--preset <name>', 'settings to start with; may stand several times', collected)
    .option('--home', 'in the home folder, for wherever there is no other')
    .option('--force', 'even if there is one: it is written anew')
    .option('--json', 'as one JSON document')
    .addHelpText('after', `\nPresets:\n${PRESETS.map(({ name, what }) => `  ${name.padEnd(10)} ${what}`).join('\n')}`)
    .action(async ({ preset = [], home, force, json }: InitFlags) => {
      const options = { presets: preset, isHome: home === true, force: force === true, json: json === true };
      (await import('./init.ts')).initSettings(options, io);
    });

  addConfigCommands(program, parts);
}

const collected = (value: string, before: string[] = []): string[] => [...before, ...value.split(',')];
