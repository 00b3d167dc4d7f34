/** Calls for tests of the journal: made up of a number, written in small chunks and compared when they are read back. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Journal } from '../../core/capture/journal.ts';
import type { JournalEntry } from '../../core/capture/journal-calls.ts';
import type { CallClosed, CallOpened, JournalPosition, ResponseHead } from '../../core/capture/journal-format.ts';
import { openJournalReader } from '../../core/capture/journal-reader.ts';
import { type Redacted, redactHeaders } from '../../core/capture/redact.ts';
import { openLog } from '../../core/log.ts';

export const silent = openLog('silent');

const folders: string[] = [];
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A folder that is removed when the process exits. */
export const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-journal-'));
  folders.push(folder);
  return folder;
};

export const copyOf = (folder: string): string => {
  const copy = newFolder();
  cpSync(folder, copy, { recursive: true });
  return copy;
};

export const opened = (name: string, keep: 'full' | 'metadata' = 'full'): Redacted<CallOpened> => ({
  svc_proxy_request_id: name,
  requested_at: '2026-11-21T09:30:00.000001Z',
  provider: 'anthropic',
  format: 'anthropic.messages',
  method: 'POST',
  url: '/v1/messages?beta=true',
  headers: redactHeaders(['user-agent', 'café']),
  client_key: 'ab',
  project: '',
  keep,
});

export const answered = (status = 200): Redacted<ResponseHead> => ({
  status,
  headers: redactHeaders([]),
  first_byte_at: '2026-11-21T09:30:00.000002Z',
});

export const closed = (request_bytes: number, response_bytes: number): CallClosed => ({
  ending: 'complete',
  last_byte_at: '2026-11-21T09:30:00.000003Z',
  request_bytes,
  response_bytes,
  cut: 'none',
  over_limit: false,
});

/** Bytes from which their source can be recognised. */
export const bytesOf = (count: number, seed: number): Uint8Array =>
  Uint8Array.from({ length: count }, (_, i) => (i * 31 + seed * 17 + (i >> 8)) & 255);

/** One whole call, written at once. Throws when the journal refuses it. */
export function writeCall(journal: Journal, name: string, request: Uint8Array, response: Uint8Array): void {
  const copy = journal.open(opened(name));
  if (!copy) throw new Error(`Cannot write call ${name}: the journal is full`);
  copy.requestBytes(request);
  copy.responseHead(answered());
  copy.responseBytes(response);
  copy.close(closed(request.byteLength, response.byteLength));
}

export const nameOf = (entry: JournalEntry): string => {
  if (entry.kind === 'call') return `${entry.call.opened.svc_proxy_request_id}${entry.call.closed ? '' : '!'}`;
  return entry.kind === 'counted' ? `counted ${entry.counted.outcome}` : 'finished';
};

/** All calls in a folder while no process writes to it. */
export async function readDead(
  folder: string,
  positions: JournalPosition[] = [],
  entries = 1000,
): Promise<JournalEntry[]> {
  const reader = openJournalReader({ folder, liveRunId: null, positions, log: silent });
  const all: JournalEntry[] = [];
  for (;;) {
    const some = await reader.read({ entries, bytes: 1e9 });
    if (some.length === 0) break;
    all.push(...some);
  }
  reader.close();
  return all;
}
