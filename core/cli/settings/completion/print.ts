/** `svc completion`: prints a script by which a shell completes the commands, options and settings of `svc`. */
import type { Command } from 'commander';
import { OperatorError } from '../../../errors.ts';
import type { Io } from '../../io.ts';
import { bashScript } from './bash.ts';
import { commandTree } from './command-tree.ts';
import { fishScript } from './fish.ts';
import { zshScript } from './zsh.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** All is in the script: completing a word starts no svc. @throws {OperatorError} status 2: there is no script for that shell */
export function printCompletion(shell: string, program: Command, { out }: Pick<Io, 'out'>): void {
  if (!(shell in SCRIPTS))
    throw new OperatorError(
      `Cannot complete for '${shell}': there are scripts for ${Object.keys(SCRIPTS).join(', ')}`,
      2,
    );
  out(SCRIPTS[shell as keyof typeof SCRIPTS](commandTree(program)));
}
