/** What does an answer leave out? Members that are null: an optional field is absent where there is nothing to say. */

/** A row for a noun: what is optional there may be null here. */
export type Sparse<Noun> = {
  [Key in keyof Noun]-?: object extends Pick<Noun, Key> ? Exclude<Noun[Key], undefined> | null : Noun[Key];
};

export const present = <Noun extends object>(row: Sparse<Noun>): Noun =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as Noun;

/** Money leaves as a JSON number; null stays null, since an unknown price is not 0. */
export const usd = (exact: string | null): number | null => (exact === null ? null : Number(exact));
