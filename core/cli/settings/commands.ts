/** The commands of 'svc settings', and their arguments. */
import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';

export function addSettingsCommands(_program: Command, _parts: CommandParts): void {}
