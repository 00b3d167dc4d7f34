/** Rows as JSON without the values that most of them have: to send, to name and to parse a value costs more than to store it. */
import { jsonText } from './literals.ts';

/** Of columns that are never null: the value of most rows. */
export type Usual<Row> = { readonly [Name in keyof Row & string]?: string | number | boolean };

/** The rows and the statement that receives them: a value that is null or usual is not sent, and the statement puts it in again. */
export type SparseRows<Row> = {
  /**
   * The row as JSON text.
   * @param other values that the row lacks, or has otherwise: to copy a row of 60 members for them takes longer than to write it
   */
  text(row: Partial<Row>, other?: Partial<Row>): string;
  /** The expression for a column of the received row `r`. */
  received(name: keyof Row & string): string;
};

/** @param names the columns that are sent */
export const sparseRows = <Row extends object>(
  names: readonly (keyof Row & string)[],
  usual: Usual<Row>,
): SparseRows<Row> => ({
  text: (row, other = {}) => {
    const sent: Partial<Row> = {};
    for (const name of names) {
      const value = other[name] === undefined ? row[name] : other[name];
      if (value !== null && value !== undefined && value !== usual[name]) sent[name] = value;
    }
    return jsonText(sent);
  },
  received: (name) => {
    const value = usual[name];
    if (value === undefined) return `r.${name}`;
    return `coalesce(r.${name}, ${typeof value === 'string' ? `'${value}'` : value})`;
  },
});
