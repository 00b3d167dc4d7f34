/** Names of statements for messages: each of the parser's kinds as an author writes it in SQL. */

const SQL_NAMES: Readonly<Record<string, string>> = {
  VariableSetStmt: 'SET',
  VariableShowStmt: 'SHOW',
  TransactionStmt: 'BEGIN, COMMIT or ROLLBACK',
  DeclareCursorStmt: 'DECLARE',
  ClosePortalStmt: 'CLOSE',
  CreateTrigStmt: 'CREATE TRIGGER',
  CreateTableAsStmt: 'CREATE TABLE AS',
  CreateStmt: 'CREATE TABLE',
  CreateSeqStmt: 'CREATE SEQUENCE',
  AlterSeqStmt: 'ALTER SEQUENCE',
  CreateEnumStmt: 'CREATE TYPE',
  CompositeTypeStmt: 'CREATE TYPE',
  CreateRangeStmt: 'CREATE TYPE',
  DefineStmt: 'this CREATE',
  IndexStmt: 'CREATE INDEX',
  ViewStmt: 'CREATE VIEW',
  RuleStmt: 'CREATE RULE',
  RenameStmt: 'RENAME',
  AlterObjectSchemaStmt: 'SET SCHEMA',
  AlterOwnerStmt: 'OWNER TO',
  CreateFdwStmt: 'CREATE FOREIGN DATA WRAPPER',
  CreatedbStmt: 'CREATE DATABASE',
  DropdbStmt: 'DROP DATABASE',
  ConstraintsSetStmt: 'SET CONSTRAINTS',
};

/** `CreateFunctionStmt`: CREATE FUNCTION */
export const wordsFor = (kind: string): string =>
  SQL_NAMES[kind] ??
  kind
    .replace(/Stmt$/, '')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toUpperCase();
