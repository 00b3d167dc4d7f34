/** Exports by the export cassette: sessions as lines of JSON, gathered into one file while they come. */
import { send, whole } from './request.ts';

export type ExportDetail = 'spans' | 'traces';
export type ExportProgress = { sessions: number; bytes: number };

type ExportOptions = { detail: ExportDetail; signal: AbortSignal; onProgress: (progress: ExportProgress) => void };
type ExportFile = { blob: Blob; name: string };

const PATH = '/v1/cassettes/export/sessions';
const DAY_MS = 86_400_000;
const LINE_FEED = 10;

/** All sessions with a call in the last so many days. @throws {ProblemError} */
export async function exportWindow(days: number, options: ExportOptions): Promise<ExportFile> {
  const now = Date.now();
  const query = new URLSearchParams({ since: new Date(now - days * DAY_MS).toISOString(), detail: options.detail });
  const gather = gathered(options);
  await gather.add(await send(`${PATH}?${query}`, { signal: options.signal }));
  return { blob: gather.blob(), name: fileName(`sessions-last-${days}-days`, options.detail, now) };
}

/** One after the other, so that the service reads one session at a time. @throws {ProblemError} at the first that fails */
export async function exportSelected(ids: readonly string[], options: ExportOptions): Promise<ExportFile> {
  const gather = gathered(options);
  for (const id of ids) {
    const path = `${PATH}/${encodeURIComponent(id)}?detail=${options.detail}`;
    await gather.add(await send(path, { signal: options.signal }));
  }
  const name = ids.length === 1 ? `session-${ids[0]}` : `sessions-${ids.length}`;
  return { blob: gather.blob(), name: fileName(name, options.detail, Date.now()) };
}

function gathered({ onProgress, signal }: ExportOptions) {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const progress = { sessions: 0, bytes: 0 };
  return {
    async add({ body }: Response): Promise<void> {
      const reader = body?.getReader();
      if (!reader) return;
      for (let next = await whole(reader.read()); !next.done; next = await whole(reader.read())) {
        signal.throwIfAborted();
        chunks.push(next.value);
        progress.bytes += next.value.byteLength;
        for (const byte of next.value) if (byte === LINE_FEED) progress.sessions += 1;
        onProgress({ ...progress });
      }
    },
    blob: () => new Blob(chunks, { type: 'application/x-ndjson' }),
  };
}

const fileName = (stem: string, detail: ExportDetail, now: number): string =>
  `${stem}-${new Date(now).toISOString().slice(0, 10)}${detail === 'traces' ? '-traces' : ''}.jsonl`;
