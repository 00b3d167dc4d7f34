/** A finding of `svc doctor`, and how findings are printed. */
import pc from 'picocolors';
import type { Io } from '../io.ts';
import { plain } from '../units.ts';

export type Finding = {
  /** `fail`: something does not work; `warn`: it may surprise; `skip`: it could not be checked. */
  level: 'ok' | 'warn' | 'fail' | 'skip';
  /** What was checked, in a word or two. */
  check: string;
  /** One sentence, without a full stop. */
  text: string;
  /** What mends it: a line to type or to write. Null: nothing has to be done. */
  remedy: string | null;
};

export const ok = (check: string, text: string): Finding => ({ level: 'ok', check, text, remedy: null });
export const skip = (check: string, text: string): Finding => ({ level: 'skip', check, text, remedy: null });
export const warn = (check: string, text: string, remedy: string | null): Finding => ({
  level: 'warn',
  check,
  text,
  remedy,
});
export const fail = (check: string, text: string, remedy: string | null): Finding => ({
  level: 'fail',
  check,
  text,
  remedy,
});

const MARK = { ok: pc.green('✓'), warn: pc.yellow('!'), fail: pc.red('✗'), skip: pc.dim('·') } as const;

export function printFinding({ level, check, text, remedy }: Finding, { out }: Pick<Io, 'out'>): void {
  out(`${MARK[level]} ${pc.bold(check)}: ${plain(text)}\n`);
  if (remedy !== null) out(`  ${pc.cyan(plain(remedy))}\n`);
}
