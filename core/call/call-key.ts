/** The key of a call: the same wherever it is recorded, on the wire or in a transcript, so that a call recorded more than once counts once. */
import { createHash } from 'node:crypto';
import type { Usage } from '../model/usage.ts';

/** The provider's ids, as its answer and its headers give them; '' where it gives none. */
export type ProviderIds = { response_id: string; request_id: string };

/** The position of a call in a transcript without ids: the `position`-th answer of a thread of its harness, and its usage. */
export type TranscriptPlace = { harness_id: string; thread: string; position: number; usage: Usage | null };

/**
 * The key of a call by its provider's ids, in hex; null: the ids do not identify it.
 *
 * | format | a call is named by | source |
 * | --- | --- | --- |
 * | anthropic.messages | `id` of the message and the header `request-id`: test servers and gateways give all messages one id | https://docs.claude.com/en/api/errors#request-id |
 * | openai.responses | `id` of the response | https://platform.openai.com/docs/api-reference/responses/object |
 * | all others | nothing: servers of `chat.completions` draw ids out of a thousand, Ollama gives none | |
 */
export function providerKey(format: string, { response_id, request_id }: ProviderIds): string | null {
  if (response_id === '') return null;
  if (format === 'anthropic.messages') return request_id === '' ? null : digest(['anthropic', response_id, request_id]);
  return format === 'openai.responses' ? digest(['openai', response_id]) : null;
}

/** The key of a transcript's call: by its provider's ids, else by its position. */
export const transcriptKey = (format: string, ids: ProviderIds, place: TranscriptPlace): string =>
  providerKey(format, ids) ?? digest([place.harness_id, place.thread, place.position, counts(place.usage)]);

const counts = (usage: Usage | null) =>
  usage && [
    ...[usage.input_tokens, usage.output_tokens, usage.reasoning_tokens],
    ...[usage.cache_read_tokens, usage.cache_write_5m_tokens, usage.cache_write_1h_tokens],
  ];

const digest = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
