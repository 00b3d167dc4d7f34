/** The rows of bytes that are no text: 16 to a row, in hex and as ASCII. */

export const BYTES_PER_ROW = 16;

export type HexRow = { offset: string; hex: string; ascii: string };

export function hexRow(bytes: Uint8Array, index: number): HexRow {
  const start = index * BYTES_PER_ROW;
  const row = [...bytes.subarray(start, start + BYTES_PER_ROW)];
  const hex = row.map((byte) => byte.toString(16).padStart(2, '0'));
  return {
    offset: start.toString(16).padStart(8, '0'),
    hex: `${hex.slice(0, 8).join(' ')}  ${hex.slice(8).join(' ')}`.trimEnd(),
    ascii: row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·')).join(''),
  };
}
