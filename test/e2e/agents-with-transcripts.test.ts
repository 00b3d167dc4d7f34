/** What a real harness sent, and the files that it left, are one session: its sub-agent stands under the tool call that started it. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyServerDatabase } from '../support/databases.ts';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import type { Json } from '../support/read-api.ts';
import { type Capture, capturedCalls, replayInTurn, startCaptureProvider } from '../support/replay-captures.ts';
import { emptyFolder, eventually, read, removeFolder, type Service, startService } from '../support/serve.ts';
import { harnessFiles, uploadBody } from '../support/transcript-uploads.ts';

/** By harness: the tool that starts the sub-agent, and what stands below the sub-agent. */
const NESTED: Record<string, { tool: string; below: string[] }> = {
  claude: { tool: 'toolu_fakeagent1', below: ['llm', 'tool', 'llm'] },
  codex: { tool: 'call_spawn1', below: ['llm', 'tool', 'llm'] },
};

type MakeDatabase = () => Promise<{ dsn: string; drop(): Promise<unknown> }>;

function declare(kind: string, captures: readonly Capture[], makeDatabase: MakeDatabase): void {
  const test = suite(`agents with their transcripts (${kind})`);

  test('one session for calls and files, with or without the files', async () => {
    const { dsn, drop } = await makeDatabase();
    const provider = await startCaptureProvider(captures);
    const folder = await (dsn === '' ? folderWithDatabase() : emptyFolder());
    const service = await startService(folder, {
      SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url,
      SVC_PROXY_UPSTREAMS_OPENAI: provider.url,
      ...(dsn !== '' && { SVC_STORAGE_POSTGRES_DSN: dsn }),
    });
    try {
      await replayInTurn(service.proxy, captures);
      const calls = await settled(service, 9);
      await uploadFiles(service);
      const files = await eventually('the files are read', async () => {
        const found = await settled(service, 9);
        return found.every(({ links }) => links.some(({ kind }: Json) => kind === 'rejoin')) && found;
      });
      assert.equal(files.map(billOf), calls.map(billOf), 'nothing is billed twice');
      for (const { session, traces, links } of files) {
        const { tool, below } = NESTED[session.harness_id] ?? { tool: '', below: [] };
        const spans: Json[] = traces.flatMap((one: Json) => one.spans);
        const agent = spans.find(({ kind, thread_id }) => kind === 'agent' && thread_id !== '');
        const parent = spans.find(({ span_id }) => span_id === agent?.parent_span_id);
        assert.equal([parent?.kind, parent?.external_id], ['tool', tool], session.harness_id);
        const own = spans.filter(({ parent_span_id }) => parent_span_id === agent?.span_id);
        assert.equal(
          own.map(({ kind }) => kind).filter((one) => one !== 'event'),
          below,
        );
        assert.is(links.filter(({ kind }: Json) => kind === 'rejoin').length, 1);
        assert.is(traces[0].trace.source, 'wire');
      }
    } finally {
      assert.is(await service.stop(), 0);
      await provider.close();
      await removeFolder(folder);
      await drop();
    }
  });

  test.run();
}

const billOf = ({ session }: Json) => [session.harness_id, session.rollup.kind_counts, session.rollup.usage];

/** The sessions, by harness, once so many calls are derived. */
const settled = ({ api }: Service, calls: number): Promise<Json[]> =>
  eventually(`${calls} calls`, async () => {
    const { items } = await read<Json>(`${api}/v1/sessions`);
    const counted = items.flatMap(({ rollup }: Json) => Object.values<number>(rollup.kind_counts));
    if (counted.reduce((sum: number, count: number) => sum + count, 0) !== calls) return null;
    assert.is(items.length, 2);
    const documents = items.map(({ id }: Json) => read<Json>(`${api}/v1/sessions/${id}/traces`));
    const sessions = await Promise.all<Json>(documents);
    return sessions.sort((one, other) => (one.session.harness_id < other.session.harness_id ? -1 : 1));
  });

async function uploadFiles({ ingest }: Service): Promise<void> {
  for (const file of [...harnessFiles('claude'), ...harnessFiles('codex')]) {
    const headers = { 'content-type': 'application/json' };
    const body = uploadBody(file);
    const kept = await fetch(`${ingest}/v1/ingest/transcript`, { method: 'POST', headers, body });
    assert.is(kept.status, 202, await kept.text());
  }
}

const captures = capturedCalls()?.filter(({ client }) => client.endsWith('-agent'));
if (captures) {
  declare('embedded', captures, async () => ({ dsn: '', drop: async () => {} }));
  const cluster = process.env.SVC_TEST_DSN;
  if (cluster) declare('server', captures, () => emptyServerDatabase(cluster));
  else console.log('skip: agents with their transcripts (server): SVC_TEST_DSN is not set');
}
