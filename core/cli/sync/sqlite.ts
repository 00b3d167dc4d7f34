/** Reads a SQLite database of another program with what Node has for it, which only newer versions do. */

export type ReadDatabase = {
  all<Row>(sql: string, ...values: string[]): Row[];
  close(): void;
};

/** Declared here, since the types of the oldest Node that is supported have none. */
type NodeSqlite = {
  DatabaseSync: new (
    path: string,
    options: { readOnly: boolean; timeout: number },
  ) => { prepare(sql: string): { all(...values: string[]): unknown[] }; close(): void };
};

const BUSY_MS = 2_000;

/** Why none can be read; null: they can. */
export const sqliteMissing = (): string | null => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isThere = major > 22 || (major === 22 && minor >= 13);
  return isThere ? null : `its database needs Node 22.13 or later, and this is ${process.versions.node}`;
};

/** For reading alone, also while its owner writes. */
export async function openSqlite(path: string): Promise<ReadDatabase> {
  const { DatabaseSync } = await sqlite();
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
  return {
    all: <Row>(sql: string, ...values: string[]) => database.prepare(sql).all(...values) as Row[],
    close: () => database.close(),
  };
}

/** Node warns on stderr that the module may still change: of no use to whoever calls a command. */
async function sqlite(): Promise<NodeSqlite> {
  const name = 'node:sqlite';
  const warn = process.emitWarning;
  process.emitWarning = () => {};
  try {
    return (await import(name)) as NodeSqlite;
  } finally {
    process.emitWarning = warn;
  }
}
