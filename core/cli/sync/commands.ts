/** The commands of 'svc sync', and their arguments. */
import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';

export function addSyncCommands(_program: Command, _parts: CommandParts): void {}
