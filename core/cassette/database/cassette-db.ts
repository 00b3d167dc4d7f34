/** The binding for a cassette's database: each statement is checked, run as its role, and counted against it when it takes too long. */

import type { CassetteCalls, StatementCall } from '../../db/cassette/call.ts';
import { INSUFFICIENT_PRIVILEGE } from '../../db/sqlstates.ts';
import { DatabaseError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { parseJson } from '../../parse-json.ts';
import { withParameters } from './parameters.ts';
import type { Parser } from './parser-thread.ts';
import { penaltyFor } from './penalties.ts';
import type { Quota } from './quota.ts';
import { refused } from './statement-refusals.ts';
import { type CallSettings, checkedSettings } from './statement-settings.ts';

export type CallOptions = { settings?: CallSettings; rows?: 'object' | 'array' };

/** As in core/cassette/contract.ts, which this room may not import; and the same as text, for callers that only forward it. */
export type CassetteDb = RowTexts & {
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

/** Rows as unparsed JSON: each text holds one or more, with commas between them. `changed`: the count, for a statement without rows. */
export type RowTexts = {
  /** How many statements run at a time; further ones wait. */
  atOnce?: number;
  queryTexts(
    sql: string,
    parameters?: readonly unknown[],
    options?: CallOptions,
  ): Promise<{ texts: string[]; changed: number | null }>;
  streamTexts(sql: string, parameters?: readonly unknown[], options?: CallOptions): AsyncIterable<string[]>;
};

export type DbOptions = {
  /** The limit of a statement, or of each batch of a stream. Default 10 s on the embedded database, else 30 s. */
  statementMs?: number;
  /** Called when a statement was ended because it took too long, or brought the embedded database down. */
  onTrouble?: (what: string) => void;
  /** The cassette comes with the service: its time in the database counts as the service's own, and its streams have no size limit. */
  builtIn?: boolean;
};

type Deps = {
  name: string;
  schema: string;
  calls: () => CassetteCalls;
  parser: Pick<Parser, 'verdictOn'>;
  quota: Quota;
  log: Logger;
};

export function cassetteDb(
  { name, schema, calls, parser, quota, log }: Deps,
  { statementMs = 30_000, onTrouble }: DbOptions,
): CassetteDb {
  const { penalties, streams } = quota;
  const chargeError = (error: unknown): unknown => {
    const chargedError = penaltyFor(error, statementMs);
    if (!chargedError) return error instanceof DatabaseError ? withoutForeignSchema(error, schema) : unexpected(error);
    penalties.charge(chargedError.message);
    onTrouble?.(chargedError.message);
    return chargedError;
  };
  const unexpected = (error: unknown) => {
    log.error({ cassette: name, error: error instanceof Error ? error.name : typeof error }, 'a statement failed');
    return new DatabaseError('Cannot run a statement: it failed unexpectedly', '', false);
  };
  const prepareCall = async (sql: string, parameters: readonly unknown[], { settings, rows }: CallOptions) => {
    penalties.refusePaused();
    const verdict = await parser.verdictOn(String(sql), schema);
    const shape = verdict.gives === 'count' ? 'count' : rows === 'array' ? 'array' : 'object';
    const filled = withParameters(sql, verdict, parameters);
    const checkedValues = checkedSettings(settings);
    const call = (): StatementCall => {
      penalties.refusePaused();
      return { schema, text: filled(), shape, settings: checkedValues };
    };
    return { verdict, shape, call };
  };

  const db: CassetteDb = {
    atOnce: quota.atOnce,
    async queryTexts(sql, parameters = [], options = {}) {
      try {
        const { call, shape } = await prepareCall(sql, parameters, options);
        const texts = await calls().run(call, statementMs);
        return shape === 'count' ? { texts: [], changed: Number(texts[0] ?? 0) } : { texts, changed: null };
      } catch (error) {
        throw chargeError(error);
      }
    },
    async *streamTexts(sql, parameters = [], options = {}) {
      let batches: AsyncGenerator<string[]> | undefined;
      let open = false;
      try {
        const { call, verdict } = await prepareCall(sql, parameters, options);
        if (!verdict.reads) throw refused('only a SELECT that changes nothing can be streamed');
        await streams.acquire();
        open = true;
        batches = calls().stream(call, statementMs);
        for (let next = await batches.next(); !next.done; next = await batches.next()) yield next.value;
      } catch (error) {
        throw chargeError(error); // an error of the reader does not get here
      } finally {
        if (open) await (batches?.return([]) ?? Promise.resolve()).finally(streams.release);
      }
    },
    async query<Row>(sql: string, parameters: readonly unknown[] = [], options: CallOptions = {}) {
      const { texts, changed } = await db.queryTexts(sql, parameters, options);
      const rows = texts.flatMap((text) => rowsIn<Row>(text));
      return { rows, row_count: changed ?? rows.length };
    },
    async *stream<Row>(sql: string, parameters: readonly unknown[] = [], options: CallOptions = {}) {
      for await (const texts of db.streamTexts(sql, parameters, options)) {
        for (const text of texts) yield* rowsIn<Row>(text);
      }
    },
  };
  return db;
}

/** One error for a schema that is missing and one that is foreign, so that a cassette cannot find out which exist: names can come as values too. */
function withoutForeignSchema(error: DatabaseError, own: string): DatabaseError {
  const isMissing = /^(42704|42P01)$/.test(error.sqlstate);
  const [, schema = own] = (isMissing && / "([^".]+)\.[^"]+" does not exist/.exec(error.message)) || [];
  const isForeign = schema !== own && !/^(svc|pg_catalog)/.test(schema);
  return isForeign || error.sqlstate === '3F000' || / for schema (?!svc)/.test(error.message)
    ? new DatabaseError(
        'Cannot run a statement: it names a schema that it has no part in (42501)',
        INSUFFICIENT_PRIVILEGE,
        false,
      )
    : error;
}

const rowsIn = <Row>(text: string): Row[] => parseJson(`[${text}]`) as Row[];
