/** Why a cassette cannot have its database: the service's role may not create it, or its migrations cannot run. */

/** The service's role may not create what the cassette needs; a DBA has to. */
export class GrantsUnavailable extends Error {
  override readonly name = 'GrantsUnavailable';
  /** For a superuser of the server to run in the service's database; holds no secret. '' when SQL does not help. */
  readonly sql: string;
  constructor(message: string, sql: string, options?: ErrorOptions) {
    super(message, options);
    this.sql = sql;
  }
}

/** `migration` is the name of the one that was refused; '' when the list is wrong. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused';
  readonly migration: string;
  readonly reason: string;
  /** It was ended since it took too long or broke the database: a retry would do the same. */
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
