/** Checks a cassette's migration: tables, indexes, sequences, types, views and rows of its own schema are allowed; nothing that runs code. */
import { DatabaseError } from '../../errors.ts';
import { refuseReach } from './allowed-names.ts';
import { parsed } from './parser.ts';
import { wordsFor } from './statement-names.ts';
import { refused } from './statement-refusals.ts';
import { nodesOf, type Seen, wordsOf } from './syntax-tree.ts';

/** Allowed statements, by the parser's names; they also apply to statements inside others. */
const KINDS = new Set(
  [
    ...['Create', 'AlterTable', 'Index', 'View', 'CreateSeq', 'AlterSeq', 'CreateEnum', 'AlterEnum', 'CompositeType'],
    ...['CreateDomain', 'AlterDomain', 'Drop', 'Rename', 'Comment', 'Truncate'],
    ...['Select', 'Insert', 'Update', 'Delete', 'Merge'],
  ].map((kind) => `${kind}Stmt`),
);

/** Objects that DROP, ALTER, RENAME and COMMENT may concern. */
const OBJECTS = new Set(
  [
    ...['TABLE', 'INDEX', 'SEQUENCE', 'VIEW', 'TYPE', 'DOMAIN'],
    ...['COLUMN', 'ATTRIBUTE', 'TABCONSTRAINT', 'DOMCONSTRAINT', 'DEFAULT'],
  ].map((object) => `OBJECT_${object}`),
);

/** Hints beside a refusal, by kind of statement. */
const HINTS: Readonly<Record<string, string>> = {
  CreateSchemaStmt: 'its schema is there already, and stands first in its search path',
  CreateExtensionStmt: 'ask for it in depends.extensions of the manifest',
  TransactionStmt: 'each migration runs in a transaction as it is',
  CreateTableAsStmt: 'create the table, then insert into it',
  VariableSetStmt: 'its search path is its own schema as it is',
  GrantStmt: 'nobody but the cassette reads its schema',
  DefineStmt: 'of types only enumerations, composites and domains are possible',
};

/** A migration's statements, or why it is refused and in which line: 0 when that is unknown. Plain data, since it passes between threads. */
export type MigrationText = { statements: string[] } | { why: string; line: number };

/** Runs in the parser thread. @param own the cassette's schema */
export async function migrationText(text: string, own: string): Promise<MigrationText> {
  let at: number | undefined;
  try {
    const { stmts = [] } = await parsed(text);
    const bytes = Buffer.from(text);
    const statements = stmts.map(({ stmt, stmt_location: start = 0, stmt_len: length = 0 }) => {
      at = start;
      refuseStatement(stmt, own);
      return bytes.toString('utf8', start, length > 0 ? start + length : bytes.length);
    });
    return { statements };
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const why = error.message.replace(/^Cannot run a statement: /, '');
    return { why, line: at === undefined ? 0 : lineAt(text, at) };
  }
}

/** The line of the first character after the blanks at this byte. */
function lineAt(text: string, at: number): number {
  const bytes = Buffer.from(text);
  const before = bytes.toString('utf8', 0, at) + (/^\s*/.exec(bytes.toString('utf8', at))?.[0] ?? '');
  return before.split('\n').length;
}

function refuseStatement(statement: unknown, own: string): void {
  for (const seen of nodesOf(statement)) {
    const { kind, node } = seen;
    if (kind.endsWith('Stmt') && !KINDS.has(kind)) {
      throw refused(`${wordsFor(kind)} is not for cassettes${HINTS[kind] ? `: ${HINTS[kind]}` : ''}`);
    }
    if (kind === 'ParamRef') throw refused('parameters have no place in a migration');
    refuseDetails(seen);
    for (const object of kind === 'DropStmt' || kind === 'CommentStmt' ? objectsOf(node) : []) {
      if (object.length > 1 && object[0] !== own)
        throw refused(`'${object.join('.')}' is not its own; its schema is '${own}'`);
    }
  }
  refuseReach(statement, own);
}

function refuseDetails({ kind, node }: Seen): void {
  const about = node.removeType ?? node.renameType ?? node.objtype;
  if (typeof about === 'string' && !OBJECTS.has(about)) {
    throw refused(
      `a migration cannot change or drop a ${about.replace('OBJECT_', '').toLowerCase().replaceAll('_', ' ')}`,
    );
  }
  if (node.concurrent === true)
    throw refused('CONCURRENTLY is not for cassettes: each migration runs in a transaction');
  if ('tablespacename' in node || 'tableSpace' in node || 'indexspace' in node || node.subtype === 'AT_SetTableSpace') {
    throw refused('tablespaces are not for cassettes');
  }
  if (node.subtype === 'AT_ChangeOwner') throw refused('OWNER TO is not for cassettes: they own what they make');
  if (kind === 'AlterTableCmd' && /Trig|Rule|Policy|RowSecurity/.test(String(node.subtype))) {
    throw refused('triggers, rules and policies are not for cassettes');
  }
}

/** Qualified names. */
function objectsOf({ objects, object }: Seen['node']): string[][] {
  const list = (objects ?? [object]) as { List?: { items?: unknown }; TypeName?: { names?: unknown } }[];
  return list.map((entry) => wordsOf(entry?.List?.items ?? entry?.TypeName?.names));
}
