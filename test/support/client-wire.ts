/** What real clients sent over the wire, out of `fixtures/clients`, as the journal holds it: for sessions that have a transcript there. */
import type { JournalCall } from '../../core/capture/journal-format.ts';
import { capturedCall } from './captured-calls.ts';
import { type Capture, capturedCalls } from './replay-captures.ts';

/** When each call went out, in milliseconds after 04:17 of the day on which the clients were recorded. */
const SENT: Record<string, number[]> = {
  'claude-agent': [15_590, 15_590, 15_640, 15_700, 15_724],
  'codex-agent': [16_190, 16_250, 16_270, 16_355, 16_378],
};

/** The calls of a client in order; none where the fixtures are absent. */
export function wireOf(client: 'claude-agent' | 'codex-agent'): JournalCall[] {
  const captures = (capturedCalls() ?? []).filter((capture) => capture.client === client);
  return captures.flatMap((capture, i) =>
    capture.method === 'POST' ? [journalled(capture, i, SENT[client]?.[i] ?? 0)] : [],
  );
}

function journalled({ headers, body, response, url }: Capture, n: number, sent: number): JournalCall {
  const at = (ms: number) => new Date(Date.UTC(2026, 10, 21, 4, 17) + ms).toISOString().replace('Z', '000Z');
  const format = url.startsWith('/v1/messages') ? 'anthropic.messages' : 'openai.responses';
  const call = capturedCall({ n, request: body, response: response.body, format, headers });
  return {
    ...call,
    opened: { ...call.opened, url, headers, requested_at: at(sent) },
    responseHead: call.responseHead && {
      ...call.responseHead,
      headers: [['content-type', response.contentType]],
      first_byte_at: at(sent + 5),
    },
    closed: call.closed && { ...call.closed, last_byte_at: at(sent + 10) },
  };
}
