/** The commands of 'svc start', and their arguments. */
import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';

export function addStartCommands(_program: Command, _parts: CommandParts): void {}
