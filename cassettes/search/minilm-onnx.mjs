/** How does all-MiniLM-L6-v2 become a model that ONNX runs? Its weights are widened to 32 bits and set into the graph of a BERT encoder. */
import onnxProto from 'onnx-proto';

const { onnx } = onnxProto;
const { FLOAT, INT64 } = onnx.TensorProto.DataType;
const { INT, FLOAT: NUMBER, INTS } = onnx.AttributeProto.AttributeType;

const HIDDEN = 384;
const HEADS = 12;
const LAYERS = 6;
const EPSILON = 1e-12;

/** @param {Buffer} weights a safetensors file of 16-bit floats @returns {Uint8Array} an ONNX file, fp32 */
export function minilmOnnx(weights) {
  const tensors = safetensors(weights);
  const graph = openGraph();
  const { op, floats, ints, scalar } = graph;
  const weight = (name, { transposed = false } = {}) => {
    const tensor = tensors(name);
    return floats(name, transposed ? turned(tensor) : tensor);
  };
  const linear = (x, name) =>
    op('Add', [op('MatMul', [x, weight(`${name}.weight`, { transposed: true })]), weight(`${name}.bias`)]);
  const normed = (x, name, output) =>
    op(
      'LayerNormalization',
      [x, weight(`${name}.weight`), weight(`${name}.bias`)],
      { axis: -1, epsilon: EPSILON },
      output,
    );

  const split = ints('shape.split', [0, 0, HEADS, HIDDEN / HEADS]);
  const joined = ints('shape.joined', [0, 0, HIDDEN]);
  const constants = {
    scale: scalar('scale', 1 / Math.sqrt(HIDDEN / HEADS)),
    half: scalar('half', 0.5),
    root: scalar('root', Math.SQRT2),
    one: scalar('one', 1),
  };
  const heads = (x, perm) => op('Transpose', [op('Reshape', [x, split])], { perm });
  const attention = (x, bias, name) => {
    const query = heads(linear(x, `${name}.self.query`), [0, 2, 1, 3]);
    const key = heads(linear(x, `${name}.self.key`), [0, 2, 3, 1]);
    const value = heads(linear(x, `${name}.self.value`), [0, 2, 1, 3]);
    const scores = op('Add', [op('Mul', [op('MatMul', [query, key]), constants.scale]), bias]);
    const seen = op('MatMul', [op('Softmax', [scores], { axis: -1 }), value]);
    return linear(op('Reshape', [op('Transpose', [seen], { perm: [0, 2, 1, 3] }), joined]), `${name}.output.dense`);
  };
  const gelu = (x) =>
    op('Mul', [
      op('Mul', [x, op('Add', [op('Erf', [op('Div', [x, constants.root])]), constants.one])]),
      constants.half,
    ]);

  let x = normed(embeddings({ op, weight, ints, scalarInt: graph.scalarInt }), 'embeddings.LayerNorm');
  const bias = maskBias({ op, ints, scalar });
  for (let layer = 0; layer < LAYERS; layer++) {
    const name = `encoder.layer.${layer}`;
    x = normed(op('Add', [attention(x, bias, `${name}.attention`), x]), `${name}.attention.output.LayerNorm`);
    const wide = gelu(linear(x, `${name}.intermediate.dense`));
    const output = layer === LAYERS - 1 ? 'last_hidden_state' : undefined;
    x = normed(op('Add', [linear(wide, `${name}.output.dense`), x]), `${name}.output.LayerNorm`, output);
  }
  return graph.file();
}

function embeddings({ op, weight, ints, scalarInt }) {
  const words = op('Gather', [weight('embeddings.word_embeddings.weight'), 'input_ids'], { axis: 0 });
  const types = op('Gather', [weight('embeddings.token_type_embeddings.weight'), 'token_type_ids'], { axis: 0 });
  const second = scalarInt('second', 1);
  const length = op('Gather', [op('Shape', ['input_ids']), second], { axis: 0 });
  const places = op('Range', [scalarInt('from', 0), length, scalarInt('step', 1)]);
  const positions = op('Gather', [weight('embeddings.position_embeddings.weight'), places], { axis: 0 });
  return op('Add', [op('Add', [words, types]), op('Unsqueeze', [positions, ints('first', [0])])]);
}

/** What is added to the scores: nothing where a token stands, much below zero where padding does. */
function maskBias({ op, ints, scalar }) {
  const mask = op('Cast', ['attention_mask'], { to: FLOAT });
  const wide = op('Unsqueeze', [mask, ints('heads and queries', [1, 2])]);
  return op('Mul', [op('Sub', [scalar('present', 1), wide]), scalar('hidden', -10_000)]);
}

/** Nodes and constants of a graph, which name their outputs themselves. */
function openGraph() {
  const node = [];
  const initializer = new Map();
  const constant = (name, dims, dataType, array) => {
    const rawData = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    initializer.set(name, { name, dims, dataType, rawData });
    return name;
  };
  const attribute = ([name, value]) => {
    if (Array.isArray(value)) return { name, type: INTS, ints: value };
    return Number.isInteger(value) ? { name, type: INT, i: value } : { name, type: NUMBER, f: value };
  };
  return {
    op(opType, input, attributes = {}, output = `t${node.length}`) {
      node.push({ opType, input, output: [output], attribute: Object.entries(attributes).map(attribute) });
      return output;
    },
    floats: (name, { shape, values }) => constant(name, shape, FLOAT, values),
    ints: (name, values) => constant(name, [values.length], INT64, BigInt64Array.from(values, BigInt)),
    scalar: (name, value) => constant(name, [], FLOAT, Float32Array.of(value)),
    scalarInt: (name, value) => constant(name, [], INT64, BigInt64Array.of(BigInt(value))),
    file: () =>
      onnx.ModelProto.encode({
        irVersion: 8,
        producerName: 'svc',
        opsetImport: [{ domain: '', version: 17 }],
        graph: {
          name: 'all-MiniLM-L6-v2',
          node,
          initializer: [...initializer.values()],
          input: ['input_ids', 'attention_mask', 'token_type_ids'].map((name) =>
            port(name, INT64, ['batch', 'tokens']),
          ),
          output: [port('last_hidden_state', FLOAT, ['batch', 'tokens', HIDDEN])],
        },
      }).finish(),
  };
}

const port = (name, elemType, dims) => ({
  name,
  type: {
    tensorType: {
      elemType,
      shape: { dim: dims.map((dim) => (typeof dim === 'string' ? { dimParam: dim } : { dimValue: dim })) },
    },
  },
});

/** A length, a header in JSON that says where each tensor lies, and the tensors. */
function safetensors(bytes) {
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString('utf8', 8, start));
  const wide = widths();
  return (name) => {
    const { shape, data_offsets, dtype } = header[name] ?? {};
    if (dtype !== 'F16') throw new Error(`Cannot read the weights: "${name}" is not there in 16-bit floats`);
    const [from, to] = data_offsets;
    const narrow = new Uint16Array(bytes.buffer.slice(bytes.byteOffset + start + from, bytes.byteOffset + start + to));
    return { shape, values: Float32Array.from(narrow, (half) => wide[half]) };
  };
}

/** Every 16-bit float, by its bits. */
function widths() {
  return Float32Array.from({ length: 65_536 }, (_, bits) => {
    const sign = bits >> 15 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
}

function turned({ shape: [rows, columns], values }) {
  const other = new Float32Array(values.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) other[column * rows + row] = values[row * columns + column];
  return { shape: [columns, rows], values: other };
}
