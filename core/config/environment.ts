/** The only reader of process.env: everything else is passed what it needs. */

export type Environment = Readonly<Record<string, string | undefined>>;

/** A copy as of now; later changes to the process's environment do not show in it. */
export const readEnvironment = (): Environment => ({ ...process.env });
