/** The commands with which one sets svc up: `svc config`, and their arguments. */
import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';
import { addConfigCommands } from './config-commands.ts';

export function addSettingsCommands(program: Command, parts: CommandParts): void {
  addConfigCommands(program, parts);
}
