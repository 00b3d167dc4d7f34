/** The confirmation before something is removed for good. */
import { OperatorError } from '../../errors.ts';
import { terminalConfirm } from '../cassette/confirm.ts';

/** @throws {OperatorError} there is no terminal to ask on, and no `--yes`; or the reply is not yes */
export async function confirmRemoval(question: string, { yes, what }: { yes: boolean; what: string }): Promise<void> {
  if (yes) return;
  const confirm = terminalConfirm();
  if (!confirm) throw new OperatorError(`Cannot ${what}: nobody can be asked here; --yes does it without asking`, 2);
  if (!(await confirm(`${question} [y/N] `, new AbortController().signal)))
    throw new OperatorError(`Cannot ${what}: it was not confirmed; nothing is removed`);
}
