/** Makes an ONNX file of the weights of all-MiniLM-L6-v2: the graph of a BERT encoder, with as many of its layers as are requested. */
import onnxProto from 'onnx-proto';
import type { Weights, WeightTensor } from './minilm-weights.ts';

const { onnx } = onnxProto;
const { FLOAT, INT64 } = onnx.TensorProto.DataType;
const { INT, FLOAT: NUMBER, INTS } = onnx.AttributeProto.AttributeType;

export const HIDDEN = 384;
export const LAYERS = 6;
const HEADS = 12;
const EPSILON = 1e-12;
const LARGE = 1024; // bytes; tensors that compute shapes have to be in the file itself

type GraphOptions = {
  /** The range of layers: `from` is included, `to` is not. */
  from?: number;
  to?: number;
  /** true: the input is the token ids. Otherwise it is the summed embeddings before the first layer, [1, tokens, 384]. */
  lookup?: boolean;
  /** Appends the bytes of a tensor to the file of that name and returns their offset. Without it they are in the ONNX file itself. */
  beside?: { name: string; append(bytes: Uint8Array): { offset: number } };
};

/**
 * `input_ids` [1, tokens] or `embedded`, to `last_hidden_state` [1, tokens, 384]. There is no mask, since nothing is padded.
 * @returns an ONNX file, fp32
 */
export function minilmOnnx(
  weights: Weights,
  { from = 0, to = LAYERS, lookup = false, beside }: GraphOptions,
): Uint8Array {
  const graph = openGraph(beside);
  const { op, floats, ints, scalar } = graph;
  const weight = (name: string, { transposed = false } = {}) => {
    const tensor = weights.tensor(name);
    return floats(name, transposed ? transpose(tensor) : tensor);
  };
  const linear = (x: string, name: string) =>
    op('Add', [op('MatMul', [x, weight(`${name}.weight`, { transposed: true })]), weight(`${name}.bias`)]);
  const normed = (x: string, name: string, output?: string) =>
    op(
      'LayerNormalization',
      [x, weight(`${name}.weight`), weight(`${name}.bias`)],
      { axis: -1, epsilon: EPSILON },
      output,
    );
  const row = (matrix: string, indices: string) => op('Gather', [weight(`embeddings.${matrix}.weight`), indices]);
  const embeddings = () => {
    const number = (name: string, value: number) => graph.scalarInt(name, value);
    const length = op('Gather', [op('Shape', ['input_ids']), number('second', 1)]);
    const positions = op('Range', [number('from', 0), length, number('step', 1)]);
    const wordsAndPositions = op('Add', [row('word_embeddings', 'input_ids'), row('position_embeddings', positions)]);
    return op('Add', [wordsAndPositions, row('token_type_embeddings', ints('type', [0]))]);
  };

  const split = ints('shape.split', [0, 0, HEADS, HIDDEN / HEADS]);
  const joined = ints('shape.joined', [0, 0, HIDDEN]);
  const [scale, half] = [scalar('scale', 1 / Math.sqrt(HIDDEN / HEADS)), scalar('half', 0.5)];
  const [root, one] = [scalar('root', Math.SQRT2), scalar('one', 1)];
  const heads = (x: string, perm: number[]) => op('Transpose', [op('Reshape', [x, split])], { perm });
  const attention = (x: string, name: string) => {
    const query = heads(linear(x, `${name}.self.query`), [0, 2, 1, 3]);
    const key = heads(linear(x, `${name}.self.key`), [0, 2, 3, 1]);
    const value = heads(linear(x, `${name}.self.value`), [0, 2, 1, 3]);
    const scores = op('Mul', [op('MatMul', [query, key]), scale]);
    const seen = op('MatMul', [op('Softmax', [scores], { axis: -1 }), value]);
    return linear(op('Reshape', [op('Transpose', [seen], { perm: [0, 2, 1, 3] }), joined]), `${name}.output.dense`);
  };
  const gelu = (x: string) => op('Mul', [op('Mul', [x, op('Add', [op('Erf', [op('Div', [x, root])]), one])]), half]);

  const begin = lookup ? embeddings() : 'embedded';
  let x = from === 0 ? normed(begin, 'embeddings.LayerNorm') : begin;
  for (let layer = from; layer < to; layer++) {
    const name = `encoder.layer.${layer}`;
    x = normed(op('Add', [attention(x, `${name}.attention`), x]), `${name}.attention.output.LayerNorm`);
    const wide = gelu(linear(x, `${name}.intermediate.dense`));
    const output = layer === to - 1 ? 'last_hidden_state' : undefined;
    x = normed(op('Add', [linear(wide, `${name}.output.dense`), x]), `${name}.output.LayerNorm`, output);
  }
  return graph.file(lookup);
}

type Attribute = number | readonly number[];

/** Builds the nodes and constants of a graph, and generates the names of their outputs. */
function openGraph(beside: GraphOptions['beside']) {
  const node: object[] = [];
  const initializer = new Map<string, object>();
  const constant = (name: string, dims: readonly number[], dataType: number, array: Float32Array | BigInt64Array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    const storage = beside && bytes.length >= LARGE ? externalData(beside, bytes) : { rawData: bytes };
    initializer.set(name, { name, dims, dataType, ...storage });
    return name;
  };
  const attribute = ([name, value]: [string, Attribute]) => {
    if (typeof value !== 'number') return { name, type: INTS, ints: value };
    return Number.isInteger(value) ? { name, type: INT, i: value } : { name, type: NUMBER, f: value };
  };
  return {
    op(opType: string, input: string[], attributes: Record<string, Attribute> = {}, output = `t${node.length}`) {
      node.push({ opType, input, output: [output], attribute: Object.entries(attributes).map(attribute) });
      return output;
    },
    floats: (name: string, { shape, values }: WeightTensor) => constant(name, shape, FLOAT, values),
    ints: (name: string, values: number[]) =>
      constant(name, [values.length], INT64, BigInt64Array.from(values, BigInt)),
    scalar: (name: string, value: number) => constant(name, [], FLOAT, Float32Array.of(value)),
    scalarInt: (name: string, value: number) => constant(name, [], INT64, BigInt64Array.of(BigInt(value))),
    file: (lookup: boolean): Uint8Array =>
      onnx.ModelProto.encode({
        irVersion: 8,
        producerName: 'svc',
        opsetImport: [{ domain: '', version: 17 }],
        graph: {
          name: 'all-MiniLM-L6-v2',
          node,
          initializer: [...initializer.values()],
          input: [lookup ? port('input_ids', INT64, [1, 'tokens']) : port('embedded', FLOAT, [1, 'tokens', HIDDEN])],
          output: [port('last_hidden_state', FLOAT, [1, 'tokens', HIDDEN])],
        },
      } as never).finish(),
  };
}

const port = (name: string, elemType: number, dims: (string | number)[]) => ({
  name,
  type: {
    tensorType: {
      elemType,
      shape: { dim: dims.map((dim) => (typeof dim === 'string' ? { dimParam: dim } : { dimValue: dim })) },
    },
  },
});

const externalData = ({ name, append }: NonNullable<GraphOptions['beside']>, bytes: Uint8Array) => ({
  dataLocation: onnx.TensorProto.DataLocation.EXTERNAL,
  externalData: Object.entries({ location: name, offset: append(bytes).offset, length: bytes.length }).map(
    ([key, value]) => ({ key, value: String(value) }),
  ),
});

function transpose({ shape: [rows = 0, columns = 0], values }: WeightTensor): WeightTensor {
  const other = new Float32Array(values.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) other[column * rows + row] = values[row * columns + column] ?? 0;
  return { shape: [columns, rows], values: other };
}
