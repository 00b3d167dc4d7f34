/** The database's errors as `DatabaseError`, without parameters; also as plain data, to pass between threads. */

import { DatabaseError, OperatorError, Refusal, type RefusalCode } from '../../errors.ts';
import { isTlsCode } from '../../tls-code.ts';
import { INTERNAL_ERROR, QUERY_CANCELED, READ_ONLY } from '../sqlstates.ts';

/** An error as plain data, for a MessagePort. */
export type Failure = { message: string; stack: string | undefined } & (
  | { kind: 'database'; sqlstate: string; transient: boolean }
  | { kind: 'refusal'; code: RefusalCode }
  | { kind: 'operator'; exitCode: 1 | 2 }
  | { kind: 'bug'; name: string }
);

/** A lost connection, a restarted worker: a retry may help. */
export const lostConnection = (why: string) => new DatabaseError(`Cannot ask the database: ${why}`, '', true);

/** True when the connection with this error cannot be used any more: of a standby a new one may lead to the server that takes writes. */
export function connectionIsLost(error: unknown): boolean {
  if (error instanceof DatabaseError) return error.transient && ['', READ_ONLY].includes(error.sqlstate);
  const { code, severity } = fields(error);
  const isOfSocket = severity === '' && (LOST.test(code) || isTlsCode(code));
  return isFatal(severity) || isOfSocket || /^(08|57P0)/.test(code) || code === READ_ONLY;
}

/** For the operation that ran when the database thread was ended, or ended by itself: a retry would not help. */
export const tookTooLong = () =>
  new DatabaseError('Cannot run a statement: it took too long (57014)', QUERY_CANCELED, false);
export const endedDatabase = () =>
  new DatabaseError('Cannot run a statement: it brought the embedded database down (XX000)', INTERNAL_ERROR, false);

/**
 * A driver's error as a `DatabaseError`. The original is not its cause, since drivers attach statement and parameters to it.
 * Details are dropped too (they quote rows), and for a refused value the message, which quotes the value.
 */
export function databaseError(error: unknown): unknown {
  if (error instanceof DatabaseError) return error;
  const { code, severity, message } = fields(error);
  if (severity !== '' && /^[0-9A-Z]{5}$/.test(code)) {
    const why = /^(22|XX)/.test(code) ? 'a value or an internal state was refused' : message;
    const transient = isFatal(severity) || TRANSIENT.test(code);
    return new DatabaseError(`Cannot run a statement: ${why} (${code})`, code, transient);
  }
  if (code === 'ECONNRESET' && NO_TLS.test(message))
    return lostConnection('the server did not begin TLS: it offers none, or broke off');
  if (LOST.test(code)) return lostConnection(`the connection is lost (${code})`);
  if (isTlsCode(code)) return lostConnection(`${whyNoTls(code)} (${code})`);
  return error;
}

export function plainFailure(error: unknown): Failure {
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
  if (error instanceof DatabaseError) {
    return { kind: 'database', message, stack, sqlstate: error.sqlstate, transient: error.transient };
  }
  if (error instanceof Refusal) return { kind: 'refusal', message, stack, code: error.code };
  if (error instanceof OperatorError) return { kind: 'operator', message, stack, exitCode: error.exitCode };
  return { kind: 'bug', message, stack, name: error instanceof Error ? error.name : 'Error' };
}

export function errorOf(failure: Failure): Error {
  const error = rebuilt(failure);
  if (failure.stack !== undefined) error.stack = failure.stack;
  return error;
}

function rebuilt(failure: Failure): Error {
  switch (failure.kind) {
    case 'database':
      return new DatabaseError(failure.message, failure.sqlstate, failure.transient);
    case 'refusal':
      return new Refusal(failure.code, failure.message);
    case 'operator':
      return new OperatorError(failure.message, failure.exitCode);
    case 'bug':
      return Object.assign(new Error(failure.message), { name: failure.name });
  }
}

/** The connection was refused or ended, whatever the reason: the statement is not at fault. */
const isFatal = (severity: string) => severity === 'FATAL' || severity === 'PANIC';

/**
 * Conditions of the server that pass or that an operator mends, while the statement is not at fault: lost connections, a standby
 * that takes no writes yet, refused logins, deadlocks, no space, locks, shutdown, failing disks. (PostgreSQL, appendix A.)
 */
const TRANSIENT = /^(08|25006|28|3D|40|53|55|57|58)/;

/** Codes of Node's sockets and of postgres.js for a connection that failed or ended. */
const LOST = /^(E[A-Z]{3,}|EAI_[A-Z]+|CONNECT_TIMEOUT|CONNECTION_[A-Z]+)$/;

/** What an operator has to look at. The message of node:tls is not shown: it quotes the names in the certificate. */
function whyNoTls(code: string): string {
  if (/^(ERR_TLS_CERT_ALTNAME|HOSTNAME_MISMATCH)/.test(code)) return "the server's certificate is for another host";
  if (code === 'CERT_HAS_EXPIRED') return "the server's certificate has expired";
  if (code === 'CERT_NOT_YET_VALID') return "the server's certificate is not valid yet";
  if (code.startsWith('ERR_')) return 'the server and svc agree on no TLS';
  return "the server's certificate is not trusted: NODE_EXTRA_CA_CERTS can name its authority";
}

/** The message of node:tls, which has no code of its own for this: the reply of a server without TLS is that it has none, and postgres.js goes on. */
const NO_TLS = /before secure TLS connection was established/;

/** A pooler's own errors have the severity in the field for people only, which postgres.js calls `severity_local`. */
function fields(error: unknown): { code: string; severity: string; message: string } {
  const { code, severity, severity_local, message } = (error ?? {}) as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return { code: text(code), severity: text(severity) || text(severity_local), message: text(message) };
}
