/** A process of `svc serve` as it sees its parent: what it is sent, what it reports, and that it ends when the parent does. */
import { OperatorError } from '../../errors.ts';
import { systemProblem } from '../system-error.ts';
import type { FromChild, Start, ToChild } from './messages.ts';

export type ParentLink = {
  /** Resolves when the message was handed to the parent; also when there is none any more. */
  send(message: FromChild): Promise<void>;
  /** Called with each message but those that begin and end the process; with those that came while it began as well. */
  receive(listener: (message: ToChild) => void): void;
};

/** What the process runs. */
export type Role = {
  /** Closes what it listens on; what is under way may finish for so long. May be called again, for less. */
  stop(graceMs: number): Promise<void>;
  /** Ends the rest, once the listeners are closed. `whole`: the parent asks for it, and is not simply gone. */
  finish(whole: boolean): Promise<void>;
};

/** Of the intake beside a proxy alone: calls that have passed already are stored before the end, since this disk may not be read again. */
const STORING_BEGIN_MS = 5_000;
const GONE_MS = 8_000; // for a process without a parent to end by itself

/**
 * Runs a process to its end, when the parent asks for it or is gone. Signals are the parent's: a terminal sends them to the whole group.
 * @param finishes whether the process waits for 'finish' after 'stop'
 */
export function runUnderParent(
  begin: (start: Start, link: ParentLink) => Promise<Role>,
  { finishes }: { finishes: boolean },
): void {
  const listeners: ((message: ToChild) => void)[] = [];
  let early: ToChild[] | null = []; // before the process has begun, for who listens from then on
  let role: Promise<Role> | null = null;
  let closing: Promise<unknown> = Promise.resolve();
  let ending = false;
  let beginMs = 0; // how long it may go on beginning after it was asked to stop
  const link: ParentLink = {
    send: (message) =>
      new Promise((done) => {
        if (process.connected) process.send?.(message, () => done());
        else done();
      }),
    receive: (listener) => {
      listeners.push(listener);
      for (const message of early ?? []) listener(message);
    },
  };
  const end = async (whole: boolean) => {
    if (ending) return;
    ending = true;
    await (await role)?.finish(whole);
    process.exit(0);
  };
  const fail = async (error: unknown) => {
    const operator = error instanceof OperatorError || systemProblem(error) !== null;
    const message = systemProblem(error) ?? (operator ? (error as Error).message : describe(error));
    await link.send({
      kind: 'failed',
      message,
      operator,
      exitCode: error instanceof OperatorError ? error.exitCode : 1,
    });
    process.exit(1);
  };

  process.on('message', (message: ToChild) => {
    if (message.kind === 'start') {
      if (finishes && message.start.role === 'proxy') beginMs = STORING_BEGIN_MS;
      role = begin(message.start, link);
      role.then(() => {
        early = null;
      }, fail);
    } else if (message.kind === 'stop') {
      if (early) setTimeout(() => early && process.exit(0), beginMs); // what it has done so far may be cut off anywhere
      closing = Promise.all([closing, role?.then((running) => running.stop(message.graceMs))]);
      closing.then(() => (finishes ? undefined : end(true))).catch(fail);
    } else if (message.kind === 'beat') void link.send(message);
    else if (message.kind === 'finish') closing.then(() => end(true)).catch(fail);
    else {
      early?.push(message);
      for (const listener of listeners) listener(message);
    }
  });
  process.once('disconnect', () => {
    if (early) process.exit(0);
    setTimeout(() => process.exit(1), GONE_MS).unref();
    role
      ?.then((running) => running.stop(0))
      .then(() => end(false))
      .catch(() => process.exit(1));
  });
}

/** Of a bug: its kind and place. The message may quote a call. */
const describe = (error: unknown) =>
  error instanceof Error ? [error.name, ...(error.stack?.split('\n').slice(1, 4) ?? [])].join('\n') : 'unknown';
