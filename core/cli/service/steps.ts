/** Runs the commands of an installation one after the other, shows each, and stops at the first that fails. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Io } from '../io.ts';
import { plain } from '../units.ts';
import type { Step } from './manager.ts';
import { type CommandResult, runCommand, shown } from './run-command.ts';

/** `failed`: why the last one did not succeed; null: all did. */
export type Ran = { ran: string[]; failed: string | null };

const POLL_MS = 250;

export async function runSteps(steps: readonly Step[], { env, err }: Pick<Io, 'env' | 'err'>): Promise<Ran> {
  const ran: string[] = [];
  for (const [index, step] of steps.entries()) {
    const { command, isOptional } = step;
    const result = await runStep(step, env);
    ran.push(shown(command));
    if (result.status === 0 || isOptional) continue;
    const left = steps.slice(index).map((one) => `  ${shown(one.command)}`);
    const why = plain(result.err.split('\n')[0] ?? '') || `it ended with status ${result.status}`;
    err(
      `Cannot run '${shown(command)}': ${why}\nRun it in a session of your own, where your service manager is:\n${left.join('\n')}\n`,
    );
    return { ran, failed: why };
  }
  return { ran, failed: null };
}

async function runStep({ command, until, retry }: Step, env: Io['env']): Promise<CommandResult> {
  let result = await runCommand(command, env);
  for (const endsAt = after(retry?.mostMs); result.status === retry?.status && performance.now() < endsAt; ) {
    await delay(POLL_MS);
    result = await runCommand(command, env);
  }
  for (const endsAt = after(until?.mostMs); until && performance.now() < endsAt; await delay(POLL_MS))
    if ((await runCommand(until.fails, env)).status !== 0) break;
  return result;
}

const after = (ms = 0) => performance.now() + ms;
