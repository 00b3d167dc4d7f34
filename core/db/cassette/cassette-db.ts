/** What does a cassette ask its database through? Each statement is looked at, run as its role, and charged to it when it takes too long. */
import { DatabaseError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Call } from './call.ts';
import { withParameters } from './parameters.ts';
import { isTooDeep } from './parser.ts';
import { refused } from './refused.ts';
import { type CallSettings, checkedSettings } from './settings.ts';
import { verdictOn } from './statement.ts';

export type CallOptions = { settings?: CallSettings; rows?: 'object' | 'array' };

/** As core/cassette/contract.ts has it, which this room cannot see. */
export type CassetteDb = {
  query<Row = Record<string, unknown>>(
    sql: string,
    parameters?: readonly unknown[],
    options?: CallOptions,
  ): Promise<{ rows: Row[]; row_count: number }>;
  stream<Row = Record<string, unknown>>(
    sql: string,
    parameters?: readonly unknown[],
    options?: CallOptions,
  ): AsyncIterable<Row>;
};

export type DbOptions = {
  /** What a statement may take; of a stream, what each batch of its rows may. Default 30 s. */
  statementMs?: number;
  /** Hears that a statement was ended because it took too long, or brought the embedded database down. */
  onTrouble?: (what: string) => void;
};

/** How a call reaches the database: lines as the role's function gives them. (call-function.ts) */
export type Calls = {
  /** @throws {DatabaseError} `57014` it took too long */
  run(call: Call, limitMs: number): Promise<string[]>;
  /** Batches of lines. */
  stream(call: Call, limitMs: number): AsyncGenerator<string[]>;
};

const STATEMENT_MS = 30_000;

/** So many within so long cost a cassette its database for a while: on the embedded one each stops everybody. */
const TROUBLES = 3;
const WITHIN_MS = 10 * 60_000;
const PAUSE_MS = 60_000;

type Deps = { name: string; schema: string; calls: () => Calls; log: Log; now?: () => number };

export function cassetteDb({ name, schema, calls, log, now = Date.now }: Deps, options: DbOptions): CassetteDb {
  const { statementMs = STATEMENT_MS, onTrouble } = options;
  let troubles: number[] = [];
  let pausedUntil = 0;

  const charged = (error: unknown): unknown => {
    const trouble = troubleIn(error, statementMs);
    if (!trouble) return error instanceof DatabaseError ? error : unexpected(error);
    log.warn({ cassette: name, why: trouble.message }, 'a statement of a cassette was ended');
    troubles = [...troubles.filter((at) => at > now() - WITHIN_MS), now()];
    if (troubles.length >= TROUBLES) {
      troubles = [];
      pausedUntil = now() + PAUSE_MS;
      log.error({ cassette: name, ms: PAUSE_MS }, 'the statements of a cassette are refused for a while');
    }
    onTrouble?.(trouble.message);
    return trouble;
  };
  const unexpected = (error: unknown) => {
    log.error({ cassette: name, error: error instanceof Error ? error.name : typeof error }, 'a statement failed');
    return new DatabaseError('Cannot run a statement: it failed unexpectedly', '', false);
  };
  const looked = async (sql: string, parameters: readonly unknown[], { settings, rows }: CallOptions) => {
    if (pausedUntil > now()) {
      const why = `${TROUBLES} statements of '${name}' took too long or broke the database within ${WITHIN_MS / 60_000} minutes`;
      throw refused(`${why}; asked again after ${new Date(pausedUntil).toISOString()} it is run`);
    }
    const verdict = await verdictOn(String(sql), schema);
    const shape = verdict.gives === 'count' ? 'count' : rows === 'array' ? 'array' : 'object';
    const text = withParameters(sql, verdict, parameters);
    return { verdict, call: { schema, text, shape, settings: checkedSettings(settings) } satisfies Call };
  };

  return {
    async query<Row>(sql: string, parameters: readonly unknown[] = [], options: CallOptions = {}) {
      try {
        const { call } = await looked(sql, parameters, options);
        const lines = await calls().run(call, statementMs);
        if (call.shape === 'count') return { rows: [], row_count: Number(lines[0] ?? 0) };
        return { rows: lines.map((line) => JSON.parse(line) as Row), row_count: lines.length };
      } catch (error) {
        throw charged(error);
      }
    },
    async *stream<Row>(sql: string, parameters: readonly unknown[] = [], options: CallOptions = {}) {
      let batches: AsyncGenerator<string[]> | undefined;
      try {
        const { call, verdict } = await looked(sql, parameters, options);
        if (!verdict.reads) throw refused('only a SELECT that changes nothing can be streamed');
        batches = calls().stream(call, statementMs);
        for (let next = await batches.next(); !next.done; next = await batches.next()) {
          for (const line of next.value) yield JSON.parse(line) as Row;
        }
      } catch (error) {
        throw charged(error); // what a reader throws does not come here
      } finally {
        await batches?.return([]);
      }
    },
  };
}

/** What counts against the cassette, as it hears it. */
function troubleIn(error: unknown, statementMs: number): DatabaseError | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof DatabaseError && error.sqlstate === '57014') {
    return new DatabaseError(`Cannot run a statement: it took longer than ${statementMs / 1000} s`, '57014', false);
  }
  if (error.name === 'RuntimeError' || (error instanceof DatabaseError && error.sqlstate === 'XX000')) {
    return new DatabaseError('Cannot run a statement: it broke the database', 'XX000', false);
  }
  return error instanceof DatabaseError && isTooDeep(error) ? error : undefined;
}
