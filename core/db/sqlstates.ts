/** The codes of PostgreSQL errors on which a decision depends (its manual, appendix A), as `sqlstate` of a `DatabaseError` has them. */

export const UNIQUE_VIOLATION = '23505';
export const DEADLOCK = '40P01';
/** `lock_not_available`: a lock was not free within `lock_timeout`. */
export const LOCK_TIMEOUT = '55P03';
/** `query_canceled`: a statement took too long, or was called off. */
export const QUERY_CANCELED = '57014';
export const INSUFFICIENT_PRIVILEGE = '42501';
/** `read_only_sql_transaction`: the server is a standby, or became one. */
export const READ_ONLY = '25006';
/** `internal_error`: of the embedded database also where its thread has ended. */
export const INTERNAL_ERROR = 'XX000';
