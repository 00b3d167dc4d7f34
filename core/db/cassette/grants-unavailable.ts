/** What if a cassette cannot have its database? Either our own role may not make it, or its migrations cannot run. */

/** Our own role may not make what it needs; a DBA has to. */
export class GrantsUnavailable extends Error {
  override readonly name = 'GrantsUnavailable';
  /** For a superuser of the server to run in our database; holds no secret. '' when SQL does not help. */
  readonly sql: string;
  constructor(message: string, sql: string, options?: ErrorOptions) {
    super(message, options);
    this.sql = sql;
  }
}

/** `migration` is the name of the one that was refused; '' when it is about their list. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused';
  readonly migration: string;
  readonly reason: string;
  /** It was ended since it took too long or broke the database: the same again would be as dear. */
  readonly final: boolean;
  constructor(
    migration: string,
    reason: string,
    { final = false, ...options }: ErrorOptions & { final?: boolean } = {},
  ) {
    super(`Cannot migrate: ${migration === '' ? '' : `${migration}: `}${reason}`, options);
    this.migration = migration;
    this.reason = reason;
    this.final = final;
  }
}
