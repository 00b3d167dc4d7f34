/** Sessions of real harnesses, out of the fixtures, replayed into a running service: what came over the wire and the files beside it. */
import * as assert from 'uvu/assert';
import type { SessionPage } from '../../core/model/session.ts';
import { corpusBodies } from './corpus-calls.ts';
import { acceptedTurn } from './post-turns.ts';
import { type Capture, capturedCalls, replayInTurn } from './replay-captures.ts';
import { type RecordedCall, recordedCalls, replay, startRecordedProvider } from './replay-recordings.ts';
import { eventually, read, type Service } from './serve.ts';
import { harnessFiles, uploadBody } from './transcript-uploads.ts';

export type Recordings = {
  /** Environment variables of the service into which they are replayed. */
  env: Record<string, string>;
  /** Stores all of them, and waits until they are derived. */
  replayInto(service: Service): Promise<void>;
  close(): Promise<void>;
};

/** The nine calls of Claude Code, an agent of Claude Code and one of Codex with their transcripts, and the corpus of Codex; null without fixtures. */
export async function startRecordings(): Promise<Recordings | null> {
  const calls = await recordedCalls();
  const agents = capturedCalls()?.filter(({ client, method }) => client.endsWith('-agent') && method === 'POST');
  const corpus = corpusBodies();
  if (!calls || !agents || !corpus) return null;
  const provider = await startRecordedProvider([...calls, ...agents.map(recordedCall)]);
  return {
    env: { SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url, SVC_PROXY_UPSTREAMS_OPENAI: provider.url },
    async replayInto(service) {
      const before = await derivedCalls(service);
      for (const call of calls) await replay(`${service.proxy}/anthropic`, call);
      await replayInTurn(service.proxy, agents);
      for (const body of corpus.turns) await acceptedTurn(service, body);
      for (const body of [...corpus.files, ...agentFiles()]) await uploadFile(service, body);
      const all = before + calls.length + agents.length + corpus.turns.length;
      await eventually(`${all} calls`, async () => (await derivedCalls(service)) === all, 180_000);
    },
    close: provider.close,
  };
}

const agentFiles = () => [...harnessFiles('claude'), ...harnessFiles('codex')].map(uploadBody);

const recordedCall = ({ path, headers, body, response }: Capture): RecordedCall => ({
  ...{ path, headers, body },
  ...{ status: response.status, responseHeaders: [['content-type', response.contentType]], response: response.body },
});

async function uploadFile({ ingest }: Service, body: BodyInit): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${ingest}/v1/ingest/transcript`, { method: 'POST', headers, body });
  assert.is(response.status, 202, await response.text());
}

/** The calls of all sessions that have been derived. */
async function derivedCalls({ api }: Service): Promise<number> {
  const { items } = await read<SessionPage>(`${api}/v1/sessions?limit=200`);
  const counts = items.flatMap(({ rollup }) => Object.values(rollup.kind_counts));
  return counts.reduce((sum, count) => sum + count, 0);
}
