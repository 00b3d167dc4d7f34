/** The commands that read the record of a service that runs, and their arguments. */
import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';

export function addRecordCommands(_program: Command, _parts: CommandParts): void {}
