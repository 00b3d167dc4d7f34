/** Downloads: the bytes of an answer as a file, with the token, with a count while they come. */
import { send, whole } from './request.ts';

type DownloadOptions = {
  signal?: AbortSignal;
  /** @param bytes that came so far */
  onProgress?: (bytes: number) => void;
};

/** @param filename where the service names none @throws {ProblemError} */
export async function download(path: string, filename = 'svc', options: DownloadOptions = {}): Promise<void> {
  const { signal, onProgress } = options;
  const response = await send(path, { signal });
  const counted = response.body?.pipeThrough(counter(onProgress)) ?? null;
  const blob = await whole(new Response(counted).blob());
  const name = namedBy(response.headers.get('content-disposition')) ?? filename;
  saveFile(new Blob([blob], { type: 'application/octet-stream' }), name);
}

export function saveFile(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = safeName(name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser may still be asking where to
}

function counter(onProgress: ((bytes: number) => void) | undefined): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      onProgress?.(bytes);
      controller.enqueue(chunk);
    },
  });
}

const namedBy = (disposition: string | null): string | undefined =>
  /filename="?([^";]+)"?/.exec(disposition ?? '')?.[1];

const safeName = (name: string): string => name.replace(/[^\w. -]+/g, '_').slice(0, 120) || 'svc';
