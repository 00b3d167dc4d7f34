/** The key of a call: the same wherever it is recorded, on the wire or in a transcript, so that a call recorded more than once counts once. */
import { hash } from 'node:crypto';
import type { Usage } from '../model/usage.ts';
import type { ProviderIds } from '../provider/format.ts';
import { formatNamed } from '../provider/formats.ts';

/** The position of a call in a transcript without ids: the `position`-th answer of a thread of its harness, and its usage. */
export type TranscriptPlace = { harness_id: string; thread: string; position: number; usage: Usage | null };

/** The key of a call by its provider's ids, in hex; null: the ids do not identify it. The format decides which of them do. */
export function providerKey(format: string, ids: ProviderIds): string | null {
  const parts = ids.response_id === '' ? null : formatNamed(format)?.callKey(ids);
  return parts ? digest(parts) : null;
}

/** The key of a transcript's call: by its provider's ids, else by its position. */
export const transcriptKey = (format: string, ids: ProviderIds, place: TranscriptPlace): string =>
  providerKey(format, ids) ?? digest([place.harness_id, place.thread, place.position, counts(place.usage)]);

const counts = (usage: Usage | null) =>
  usage && [
    ...[usage.input_tokens, usage.output_tokens, usage.reasoning_tokens],
    ...[usage.cache_read_tokens, usage.cache_write_5m_tokens, usage.cache_write_1h_tokens],
  ];

const digest = (parts: readonly unknown[]): string => hash('sha256', JSON.stringify(parts), 'hex').slice(0, 32);
