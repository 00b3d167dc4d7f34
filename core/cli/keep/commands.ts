/** The commands of 'svc keep', and their arguments. */
import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';

export function addKeepCommands(_program: Command, _parts: CommandParts): void {}
