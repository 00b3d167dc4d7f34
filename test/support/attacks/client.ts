/** What a hostile client, or a broken provider, sends over and over, by name. */
import { connect } from 'node:net';
import { eventually, read, type Service } from '../serve.ts';

export const FROM_A_CLIENT: Record<string, (service: Service) => Promise<void>> = {
  'an answer with 140,000 tool calls': async ({ ingest }) => {
    const call = (n: number) => ({
      id: `c${n.toString(36)}`,
      type: 'function',
      function: { name: 'f', arguments: '{}' },
    });
    const message = {
      role: 'assistant',
      content: null,
      tool_calls: Array.from({ length: 140_000 }, (_, n) => call(n)),
    };
    await append(ingest, 'tools', {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model: 'gpt-4o-mini',
      choices: [{ index: 0, finish_reason: 'tool_calls', message }],
    });
  },
  'a skill out of 150,000 blanks': async (service) => {
    await append(
      service.ingest,
      'blanks',
      {
        id: 'chatcmpl-2',
        object: 'chat.completion',
        model: 'gpt-4o-mini',
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Noted' } }],
      },
      `password${' '.repeat(150_000)}x`,
    );
    const id = await eventually('the session with the blanks', () => derivedSession(service, 'blanks'), 120_000);
    const generate = { method: 'POST', headers: JSON_TYPE, body: JSON.stringify({ sessionIds: [id] }) };
    const response = await fetch(`${service.api}/v1/cassettes/skills/generate`, generate);
    if (response.status !== 500) throw new Error(`Cannot attack: ${response.status} ${await response.text()}`);
  },
  'heads that never end, two hundred at once': async ({ api }) => {
    const { port, hostname } = new URL(api);
    const sockets = Array.from({ length: 200 }, () => {
      const socket = connect(Number(port), hostname).on('error', () => {});
      socket.write(`GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}`);
      return socket;
    });
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (const socket of sockets) socket.destroy();
  },
  'bodies of 14 MB of brackets, four at once': async ({ ingest }) => {
    const send = async () => {
      const body = '['.repeat(14_000_000);
      await (await fetch(`${ingest}/v1/ingest`, { method: 'POST', headers: JSON_TYPE, body })).arrayBuffer();
    };
    await Promise.all(Array.from({ length: 4 }, send));
  },
};

/** The id of the session of that name, once it has a trace. */
async function derivedSession({ api }: Service, name: string): Promise<string | null> {
  const { items } = await read<{ items: { id: string; harness_session_id: string }[] }>(`${api}/v1/sessions?limit=200`);
  const id = items.find(({ harness_session_id }) => harness_session_id === name)?.id;
  if (id === undefined) return null;
  const { traces } = await read<{ traces: unknown[] }>(`${api}/v1/sessions/${id}/traces`);
  return traces.length > 0 ? id : null;
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** One call as a gateway appends it, in the session of that name. */
async function append(ingest: string, session: string, answer: unknown, content = 'Go on'): Promise<void> {
  const turn = {
    provider: 'openai',
    request: { model: 'gpt-4o-mini', messages: [{ role: 'user', content }] },
    raw_response: Buffer.from(JSON.stringify(answer)).toString('base64'),
    session: { harness_id: 'attacks', harness_session_id: session },
    meta: {
      request_id: `${session}-${process.hrtime.bigint()}`,
      upstream_status: 200,
      content_type: 'application/json',
    },
  };
  const response = await fetch(`${ingest}/v1/ingest`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify(turn),
  });
  const text = await response.text();
  if (response.status !== 202) throw new Error(`Cannot append a turn: ${response.status} ${text}`);
}
