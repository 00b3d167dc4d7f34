/** Stores a long session in a running service, through the door of its harness. */
import * as assert from 'uvu/assert';
import type { Outline } from '../../core/model/outline.ts';
import type { SessionPage } from '../../core/model/session.ts';
import { LARGE_SESSIONS, largeSession, spansIn } from './large-session.ts';
import { eventually, read, type Service } from './serve.ts';

/** @returns its id, once all of its spans are there */
export async function storedLargeSession(service: Service, name: keyof typeof LARGE_SESSIONS): Promise<string> {
  for (const message of largeSession(LARGE_SESSIONS[name], name)) {
    const body = JSON.stringify(message);
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${service.ingest}/v1/ingest/transcript`, { method: 'POST', headers, body });
    assert.is(response.status, 202, await response.text());
  }
  const calls = spansIn(LARGE_SESSIONS[name]) / 2;
  return eventually(
    `all spans of ${name}`,
    async () => {
      const { items } = await read<SessionPage>(`${service.api}/v1/sessions`);
      const session = items.find(({ harness_session_id }) => harness_session_id === name);
      return session && session.rollup.kind_counts.main === calls && session.id;
    },
    600_000,
  );
}

export const outlineOf = (service: Service, id: string) => read<Outline>(`${service.api}/v1/sessions/${id}/outline`);
