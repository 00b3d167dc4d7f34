/** The ONNX runtime: the native one where it may be loaded, else the same compiled to WebAssembly, which takes twice as long. */
import { createRequire } from 'node:module';

export type OnnxTensor = { data: Float32Array; dims: readonly number[] };

export type OnnxSession = {
  inputNames: readonly string[];
  outputNames: readonly string[];
  run(feeds: Readonly<Record<string, unknown>>): Promise<Record<string, OnnxTensor>>;
};

export type Runtime = {
  kind: 'native' | 'wasm';
  /** @param model a path, so that its tensors are mapped from the file beside it; `wasm` takes bytes only */
  open(model: string | Uint8Array): Promise<OnnxSession>;
  floats(values: Float32Array, dims: readonly number[]): unknown;
  integers(values: readonly number[], dims: readonly number[]): unknown;
};

type Library = {
  Tensor: new (type: string, values: Float32Array | BigInt64Array, dims: readonly number[]) => unknown;
  InferenceSession: { create(model: string | Uint8Array, options: object): Promise<OnnxSession> };
  env: { wasm: Record<string, unknown> };
};

/** Loads a runtime in the version that comes with the library of the tokenizers. */
const load = (name: string): Library => {
  const require = createRequire(import.meta.url);
  return createRequire(require.resolve('@xenova/transformers'))(name) as Library;
};

/** null: the library does not exist for this machine, another thread of the process has loaded it, or native addons are refused, as in a cassette's own process. */
function nativeLibrary(): Library | null {
  try {
    return load('onnxruntime-node');
  } catch {
    return null;
  }
}

export function openRuntime(): Runtime {
  const native = nativeLibrary();
  if (native) return runtimeOf('native', native, { executionProviders: ['cpu'] });
  const library = load('onnxruntime-web');
  Object.assign(library.env.wasm, { numThreads: 1, simd: true }); // several threads would be refused here as well
  return runtimeOf('wasm', library, { executionProviders: ['wasm'] });
}

function runtimeOf(kind: Runtime['kind'], { Tensor, InferenceSession }: Library, options: object): Runtime {
  return {
    kind,
    open: (model) => withoutItsListeners(() => InferenceSession.create(model, options)),
    floats: (values, dims) => new Tensor('float32', values, dims),
    integers: (values, dims) => new Tensor('int64', BigInt64Array.from(values, BigInt), dims),
  };
}

/** Removes the process listeners that the WebAssembly build adds, which would throw every unhandled rejection of the process. */
async function withoutItsListeners<T>(work: () => Promise<T>): Promise<T> {
  const events = ['uncaughtException', 'unhandledRejection'] as const;
  const before = events.map((event) => process.rawListeners(event));
  try {
    return await work();
  } finally {
    for (const [i, event] of events.entries())
      for (const listener of process.rawListeners(event))
        if (!before[i]?.includes(listener)) process.removeListener(event, listener as () => void);
  }
}
