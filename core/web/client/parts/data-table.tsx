/** A table of figures: the first column says what a row is about, the others are numbers. */
import type { ComponentChildren } from 'preact';

type DataAttributes = Record<`data-${string}`, string>;

type DataTableProps = {
  columns: readonly string[];
  rows: readonly {
    key: string;
    attributes: DataAttributes;
    head: ComponentChildren;
    cells: readonly ComponentChildren[];
  }[];
  attributes?: DataAttributes;
};

export const DataTable = ({ columns, rows, attributes }: DataTableProps) => (
  <table class="data-table" {...attributes}>
    <thead>
      <tr>
        {columns.map((name, column) => (
          <th key={name} scope="col" class={column > 0 ? 'number' : ''}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map(({ key, attributes: own, head, cells }) => (
        <tr key={key} {...own}>
          <th scope="row">{head}</th>
          {cells.map((cell, column) => (
            <td key={column} class="number">
              {cell}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);
