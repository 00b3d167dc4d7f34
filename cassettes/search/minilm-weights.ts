/** Reads the weights in the package of all-MiniLM-L6-v2: named tensors of 16-bit floats in one file, read one by one and widened. */
import { closeSync, openSync, readSync } from 'node:fs';

export type WeightTensor = { shape: readonly number[]; values: Float32Array };

export type Weights = {
  tensor(name: string): WeightTensor;
  /** Adds one row of a matrix to the array. */
  addRow(name: string, row: number, to: Float32Array): void;
  close(): void;
};

type Header = Readonly<Record<string, { dtype: string; shape: number[]; data_offsets: [from: number, to: number] }>>;

const HALF_BYTES = 2; // bytes

/** @param path of a safetensors file: a length, a header in JSON that says where each tensor lies, and the tensors */
export function openWeights(path: string): Weights {
  const file = openSync(path, 'r');
  const bytes = (from: number, length: number): Uint8Array => {
    const read = new Uint8Array(length); // its memory is aligned for 16-bit numbers
    for (let at = 0; at < length; ) {
      const count = readSync(file, read, at, length - at, from + at);
      if (count === 0) throw new Error('Cannot read the weights: the file ends early');
      at += count;
    }
    return read;
  };
  const start = 8 + Number(new DataView(bytes(0, 8).buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes(8, start - 8))) as Header;
  const wide = widths();
  const found = (name: string) => {
    const entry = header[name];
    if (entry?.dtype !== 'F16') throw new Error(`Cannot read the weights: "${name}" is not there in 16-bit floats`);
    return { shape: entry.shape, from: start + entry.data_offsets[0], to: start + entry.data_offsets[1] };
  };
  const numbers = (from: number, length: number) => new Uint16Array(bytes(from, length).buffer);
  return {
    tensor(name) {
      const { shape, from, to } = found(name);
      return { shape, values: Float32Array.from(numbers(from, to - from), (half) => wide[half] ?? 0) };
    },
    addRow(name, row, sum) {
      const { from } = found(name);
      const length = sum.length * HALF_BYTES;
      const halves = numbers(from + row * length, length);
      for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] ?? 0) + (wide[halves[i] ?? 0] ?? 0);
    },
    close: () => closeSync(file),
  };
}

/** The value of every 16-bit float, indexed by its bits. */
function widths(): Float32Array {
  return Float32Array.from({ length: 65_536 }, (_, bits) => {
    const sign = bits >> 15 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
}
