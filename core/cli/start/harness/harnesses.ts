/** The harnesses that `svc start` knows, by the command that starts them. A new one is a file of its own and one line here. */
import { basename } from 'node:path';
import { anyCommand } from './any-command.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { gemini } from './gemini.ts';
import type { StartedHarness } from './harness.ts';
import { opencode } from './opencode.ts';
import { pi } from './pi.ts';

const harnesses: readonly StartedHarness[] = [claude, codex, opencode, gemini, pi];

/** @param command a name on the PATH, or the path of a program */
export function startedHarness(command: string): StartedHarness {
  const known = harnesses.find((harness) => harness.command === basename(command));
  return known ? { ...known, command } : anyCommand(command);
}
