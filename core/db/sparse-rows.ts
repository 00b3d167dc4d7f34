/** Rows as JSON without the values that most of them have: to send, to name and to parse a value costs more than to store it. */

/** Of columns that are never null: the value of most rows. */
export type Usual<Row> = { readonly [Name in keyof Row & string]?: string | number | boolean };

/** The rows and the statement that receives them: a value that is null or usual is not sent, and the statement puts it in again. */
export type SparseRows<Row> = {
  sent(row: Row): Partial<Row>;
  /** The expression for a column of the received row `r`. */
  received(name: keyof Row & string): string;
};

/** @param names the columns that are sent */
export const sparseRows = <Row extends object>(
  names: readonly (keyof Row & string)[],
  usual: Usual<Row>,
): SparseRows<Row> => ({
  sent: (row) => {
    const out: Partial<Row> = {};
    for (const name of names) {
      const value = row[name];
      if (value !== null && value !== usual[name]) out[name] = value;
    }
    return out;
  },
  received: (name) => {
    const value = usual[name];
    if (value === undefined) return `r.${name}`;
    return `coalesce(r.${name}, ${typeof value === 'string' ? `'${value}'` : value})`;
  },
});
