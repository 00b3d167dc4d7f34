/** Checks whether a cassette may run a statement, and what it returns: one SELECT, INSERT, UPDATE, DELETE or MERGE, as the parser sees it. */
import { refuseReach } from './allowed-names.ts';
import { parsed } from './parser.ts';
import { wordsFor } from './statement-names.ts';
import { refused } from './statement-refusals.ts';
import { nodesOf } from './syntax-tree.ts';

/** `start` and `end` are byte offsets into the text in UTF-8. */
export type ParameterRange = { start: number; end: number; parameter: number };

export type StatementVerdict = {
  /** `count`: it returns no rows, only how many it changed. */
  gives: 'rows' | 'count';
  /** It changes nothing. */
  reads: boolean;
  /** The range of the statement within the text, and the ranges of its parameters in the whole text, in order. */
  start: number;
  end: number;
  places: readonly ParameterRange[];
};

const WRITES = new Set(['InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt']);
const ALLOWED = new Set(['SelectStmt', ...WRITES]);

/** Runs in the parser thread. @param own the cassette's schema @throws {DatabaseError} it is refused, and why; `42601` it cannot be parsed */
export async function checkStatement(text: string, own: string): Promise<StatementVerdict> {
  const { stmts = [] } = await parsed(text);
  const [only] = stmts;
  if (!only?.stmt) throw refused('it is empty');
  if (stmts.length > 1) throw refused(`these are ${stmts.length} statements; ask one at a time`);
  const bytes = Buffer.from(text);
  const places: ParameterRange[] = [];
  let reads = true;
  for (const { kind, node } of nodesOf(only.stmt)) {
    if (kind === 'ParamRef') places.push(rangeOf(bytes, node));
    if (!kind.endsWith('Stmt')) continue;
    if (!ALLOWED.has(kind))
      throw refused(`${wordsFor(kind)} is not for cassettes, only SELECT, INSERT, UPDATE and DELETE`);
    if (WRITES.has(kind)) reads = false;
  }
  refuseReach(only.stmt, own);
  places.sort((one, other) => one.start - other.start);
  const [outermost = ''] = Object.keys(only.stmt);
  const [body] = Object.values(only.stmt) as { returningClause?: unknown; returningList?: unknown }[];
  const start = only.stmt_location ?? 0;
  return {
    gives: outermost === 'SelectStmt' || body?.returningClause || body?.returningList ? 'rows' : 'count',
    reads,
    start,
    end: only.stmt_len ? start + only.stmt_len : bytes.length,
    places,
  };
}

function rangeOf(bytes: Buffer, { number, location }: Readonly<Record<string, unknown>>): ParameterRange {
  const start = Number(location);
  const [written = ''] = /^\$\d+/.exec(bytes.toString('latin1', start, start + 12)) ?? [];
  const parameter = Number(number ?? 0);
  if (written === '' || Number(written.slice(1)) !== parameter || parameter < 1) {
    throw refused('its parameters are not written as $1, $2 …');
  }
  return { start, end: start + written.length, parameter };
}
