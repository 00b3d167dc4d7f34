/** The errors of the service. Codes are stable and documented; for a new one the compiler requires a status in http/failure.ts. */
export type RefusalCode =
  | 'bad-request'
  | 'session-unknown'
  | 'trace-unknown'
  | 'span-unknown'
  | 'raw-turn-unknown'
  | 'raw-turn-unanswered'
  | 'raw-turn-promptless'
  | 'block-unknown'
  | 'raw-turn-inseparable'
  | 'route-unknown'
  | 'method-not-allowed'
  | 'read-only'
  | 'foreign-host'
  | 'foreign-origin'
  | 'body-too-large'
  | 'body-undecodable'
  | 'decoder-unavailable'
  | 'range-unsatisfiable'
  | 'unsupported-media-type'
  | 'unauthorized'
  | 'too-many-payload-reads'
  | 'too-many-readers'
  | 'deadline-exceeded'
  | 'cassette-unknown'
  | 'cassette-unavailable'
  | 'cassette-broken'
  | 'cassette-late'
  | 'backup-broken'
  | 'gc-under-way'
  | 'database-unavailable';

/** A request that was understood and is not served. Anything else that is thrown is a bug. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  constructor(code: RefusalCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * The operator asked for something impossible: printed without a stack, exit status 2 for usage, 1 otherwise. `instanceof` goes by the name:
 * what is built holds a copy of this class in several bundles, and one throws what another catches.
 */
export class OperatorError extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'OperatorError';
  }
  override readonly name = 'OperatorError';
  readonly exitCode: 1 | 2;
  constructor(message: string, exitCode: 1 | 2 = 1, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** The database failed or refused. `sqlstate` is PostgreSQL's code or '' (connection lost); the message never holds a parameter. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
  readonly sqlstate: string;
  /** True when the statement itself is not at fault: connection lost, worker restarted, serialization, shutdown. */
  readonly transient: boolean;
  constructor(message: string, sqlstate: string, transient: boolean, options?: ErrorOptions) {
    super(message, options);
    this.sqlstate = sqlstate;
    this.transient = transient;
  }
}

/** What may be logged of an error: messages of libraries may quote the value that they failed at. */
export const reasonOf = (error: unknown): string =>
  error instanceof DatabaseError ? error.message : error instanceof Error ? error.name : 'unknown';
