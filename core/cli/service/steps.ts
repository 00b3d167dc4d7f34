/** Runs the commands of an installation one after the other, shows each, and stops at the first that fails. */
import type { Io } from '../io.ts';
import { plain } from '../units.ts';
import type { Step } from './manager.ts';
import { runCommand, shown } from './run-command.ts';

/** `failed`: why the last one did not succeed; null: all did. */
export type Ran = { ran: string[]; failed: string | null };

export async function runSteps(steps: readonly Step[], { env, err }: Pick<Io, 'env' | 'err'>): Promise<Ran> {
  const ran: string[] = [];
  for (const [index, { command, isOptional }] of steps.entries()) {
    const result = await runCommand(command, env);
    ran.push(shown(command));
    if (result.status === 0 || isOptional) continue;
    const left = steps.slice(index).map((step) => `  ${shown(step.command)}`);
    const why = plain(result.err.split('\n')[0] ?? '') || `it ended with status ${result.status}`;
    err(
      `Cannot run '${shown(command)}': ${why}\nRun it in a session of your own, where your service manager is:\n${left.join('\n')}\n`,
    );
    return { ran, failed: why };
  }
  return { ran, failed: null };
}
