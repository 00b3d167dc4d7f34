/** May a cassette's migration say this? Tables, indexes, sequences, types, views and rows of its own schema; nothing that runs code. */
import { createHash } from 'node:crypto';
import { DatabaseError } from '../../errors.ts';
import { refuseReach } from './allowed.ts';
import { MigrationRefused } from './grants-unavailable.ts';
import { wordsFor } from './kinds.ts';
import type { MigrationFile } from './migrate-cassette.ts';
import { parsed } from './parser.ts';
import { refused } from './refused.ts';
import { nodesOf, type Seen, wordsOf } from './tree.ts';

/** Statements, as the parser calls them; inside others as well. */
const KINDS = new Set(
  [
    ...['Create', 'AlterTable', 'Index', 'View', 'CreateSeq', 'AlterSeq', 'CreateEnum', 'AlterEnum', 'CompositeType'],
    ...['CreateDomain', 'AlterDomain', 'Drop', 'Rename', 'Comment', 'Truncate'],
    ...['Select', 'Insert', 'Update', 'Delete', 'Merge'],
  ].map((kind) => `${kind}Stmt`),
);

/** What DROP, ALTER, RENAME and COMMENT may be about. */
const OBJECTS = new Set(
  [
    ...['TABLE', 'INDEX', 'SEQUENCE', 'VIEW', 'TYPE', 'DOMAIN'],
    ...['COLUMN', 'ATTRIBUTE', 'TABCONSTRAINT', 'DOMCONSTRAINT', 'DEFAULT'],
  ].map((object) => `OBJECT_${object}`),
);

/** Where a hint helps more than the refusal. */
const INSTEAD: Readonly<Record<string, string>> = {
  CreateSchemaStmt: 'its schema is there already, and stands first in its search path',
  CreateExtensionStmt: 'ask for it in depends.extensions of the manifest',
  TransactionStmt: 'each migration runs in a transaction as it is',
  CreateTableAsStmt: 'create the table, then insert into it',
  VariableSetStmt: 'its search path is its own schema as it is',
  GrantStmt: 'nobody but the cassette reads its schema',
  DefineStmt: 'of types only enumerations, composites and domains are possible',
};

/** Reads them all, before any runs. @param own the cassette's schema @throws {MigrationRefused} */
export async function readCassetteMigrations(
  own: string,
  migrations: readonly { name: string; sql: string }[],
): Promise<MigrationFile[]> {
  const names = new Set<string>();
  const files: MigrationFile[] = [];
  for (const { name, sql } of migrations) {
    if (!/^[a-z0-9_-]{1,100}$/.test(name)) {
      throw new MigrationRefused('', `'${name.slice(0, 100)}' is no name: at most 100 of a-z, 0-9, _ and -`);
    }
    if (names.has(name)) throw new MigrationRefused(name, 'there are two of this name');
    names.add(name);
    files.push({
      name,
      sha256: createHash('sha256').update(sql).digest('hex'),
      statements: await read(name, sql, own),
    });
  }
  return files;
}

async function read(name: string, text: string, own: string): Promise<string[]> {
  let line = 0;
  try {
    const { stmts = [] } = await parsed(text);
    const bytes = Buffer.from(text);
    return stmts.map(({ stmt, stmt_location: start = 0, stmt_len: length = 0 }) => {
      const end = length > 0 ? start + length : bytes.length;
      const before = bytes.toString('utf8', 0, start) + (/^\s*/.exec(bytes.toString('utf8', start, end))?.[0] ?? '');
      line = before.split('\n').length;
      refuseStatement(stmt, own);
      return bytes.toString('utf8', start, end);
    });
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const why = error.message.replace(/^Cannot run a statement: /, '');
    throw new MigrationRefused(name, line === 0 ? why : `line ${line}: ${why}`, { cause: error });
  }
}

function refuseStatement(statement: unknown, own: string): void {
  for (const seen of nodesOf(statement)) {
    const { kind, node } = seen;
    if (kind.endsWith('Stmt') && !KINDS.has(kind)) {
      throw refused(`${wordsFor(kind)} is not for cassettes${INSTEAD[kind] ? `: ${INSTEAD[kind]}` : ''}`);
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
