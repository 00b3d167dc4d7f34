/** V8's flags for a process that no parent starts: it begins anew with them, as the same process. */
import { SERVICE_FLAGS } from '../../service-flags.ts';
import { LONE_ROLES } from './role.ts';

/** Node 20 has none. (nodejs.org/api/process.html, 'process.execve') */
type Execve = (file: string, args: readonly string[]) => never;

/**
 * Does not return where the command is `svc serve api`, `ingest` or `derive` and V8 has not got its flags yet: the process, with its id, its
 * standard streams and its environment, starts the command again. Where it cannot, it goes on without the flags, and V8 keeps what it took:
 * 656 MiB in a `derive` after a transcript of 80 MB, for 223 with them.
 */
export function beginWithFlags(): void {
  const [command, ...words] = process.argv.slice(2);
  const isLone = command === 'serve' && LONE_ROLES.some((role) => words.includes(role));
  const hasFlags = SERVICE_FLAGS.every((flag) => process.execArgv.includes(flag));
  const { execve } = process as { execve?: Execve };
  if (!isLone || hasFlags || !execve || process.connected) return; // a parent's channel would be closed
  try {
    execve(process.execPath, [process.execPath, ...process.execArgv, ...SERVICE_FLAGS, ...process.argv.slice(1)]);
  } catch {} // Windows
}
