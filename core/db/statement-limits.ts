/** Operations that may take longer than others. Apart from the operations, so that who only sends their names need not load them. */

/** The limit of one statement of an operation in milliseconds, where the default is too short. */
export const statementLimitsMs: { readonly [name: string]: number } = {
  checkpoint: 600_000,
  migrateCassette: 600_000,
  provisionCassette: 600_000, // another process may migrate it meanwhile
  removeCassette: 600_000,
  openPurge: 600_000,
  purgeSession: 600_000,
  findTextElsewhere: 600_000,
  findTextInSession: 600_000,
  finishCassette: 3_600_000, // an index of vectors is built
  finishRestore: 600_000,
  replaceNodes: 600_000,
  sweepPurged: 600_000,
  rewriteTable: 3_600_000,
  dropLog: 600_000,
  vacuum: 600_000,
};
