/** Rows as response objects: members that are null are left out, so that an optional field is absent when it has no value. */

/** The row of a model type: what is optional there is nullable here. */
export type Sparse<Noun> = {
  [Key in keyof Noun]-?: object extends Pick<Noun, Key> ? Exclude<Noun[Key], undefined> | null : Noun[Key];
};

export const present = <Noun extends object>(row: Sparse<Noun>): Noun =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as Noun;
