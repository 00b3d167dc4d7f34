/** `svc help <command>`, and what a command that does not exist most likely stands for. */
import type { Command } from 'commander';
import { nearest } from '../config/nearest.ts';
import { completeOptions } from './options.ts';

/** Replaces commander's own command, which explains no command of a group. */
export function addHelpCommand(program: Command): void {
  program.helpCommand(false);
  program
    .command('help')
    .description('explain a command')
    .argument('[command...]', 'its name, such as status; in a group two, such as cassette add')
    .action((names: string[]) => {
      let command = program;
      for (const name of names) {
        const found = commandIn(command, name);
        if (!found) return refuse(command, name);
        command = found;
      }
      completeOptions(command);
      command.help();
    });
  program.on('command:*', ([name = '']: string[]) => refuse(program, name));
}

const commandIn = (group: Command, name: string): Command | undefined =>
  group.commands.find((command) => command.name() === name || command.aliases().includes(name));

/** @throws {CommanderError} always */
function refuse(group: Command, name: string): void {
  const known = visible(group).map((command) => command.name());
  const near = nearest(name, known);
  const nested = near === null ? visible(group).filter((each) => commandIn(each, name)) : [];
  const meant = near === null ? nested.map((each) => `${pathOf(each)} ${name}`) : [near];
  const hint = meant.length > 0 ? `\n(Did you mean ${meant.join(' or ')}?)` : '';
  group.error(`error: unknown command '${name}'${hint}`, { code: 'commander.unknownCommand' });
}

/** Commands that are hidden from help are not suggested either. */
const visible = (group: Command): Command[] => group.createHelp().visibleCommands(group);

const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
