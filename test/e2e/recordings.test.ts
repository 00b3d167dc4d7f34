/** The recorded calls of one real coding-agent session replay through the real service. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { type RecordedCall, recordedCalls, replay, startRecordedProvider } from '../support/replay-recordings.ts';
import { eventually, read, removeFolder, startService } from '../support/serve.ts';

type Span = { kind: string; output: unknown[]; call_kind: string };
type Composite = { traces: { trace: { trace_id: string; user_prompt: string }; spans: Span[] }[] };
type Turns = {
  items: {
    id: number;
    outcome: string;
    requested_at: string;
    payload: { request: { encoding: string; body: string }; response: { encoding: string; body: string } };
  }[];
};

const calls = await recordedCalls();
const test = suite('the recordings through svc serve');

if (!calls) console.log('skip: the recordings through svc serve: no fixtures');
else
  test('nine calls are one session and one trace: a title, and eight llm spans whose tools are joined but the last', async () => {
    const folder = await folderWithDatabase();
    const provider = await startRecordedProvider(calls);
    const service = await startService(folder, { SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url });
    try {
      for (const call of calls) {
        const answer = await replay(`${service.proxy}/anthropic`, call);
        assert.ok(answer.equals(call.response), 'the encoded answer reaches the client byte for byte');
      }
      const sessions = () =>
        read<{ items: { id: string; harness_id: string; name?: string; cwd?: string }[] }>(
          `${service.api}/v1/sessions`,
        );
      const session = await eventually('nine turns', async () => {
        const [found] = (await sessions()).items;
        if (!found) return null;
        const { traces } = await read<Composite>(`${service.api}/v1/sessions/${found.id}/traces`);
        const llm = traces.flatMap(({ spans }) => spans.filter((span) => span.kind === 'llm'));
        if (llm.length < calls.length) return null;
        const { items } = await sessions(); // once more: the calls may have come in between
        return items[0] ? { items, first: items[0], traces } : null;
      });
      assert.is(session.items.length, 1, 'one session');
      assert.is(session.first.harness_id, 'claude');
      assert.is(session.first.name, 'tapes-fixture-run-7c');
      assert.is(session.first.cwd, '/private/tmp/tapes-fixture-run');

      const [conversation, ...others] = session.traces as [Composite['traces'][0]];
      assert.is(others.length, 0, 'the conversation adopts the trace of its title call');
      const calledFor = conversation.spans.flatMap(({ kind, call_kind }) => (kind === 'llm' ? [call_kind] : []));
      assert.equal(calledFor, ['offshoot:title-gen', ...Array.from({ length: 8 }, () => 'main')]);
      const tools = conversation.spans.filter((span) => span.kind === 'tool');
      assert.ok(tools.length >= 8, 'each of the eight calls asked for a tool');
      const open = tools.filter((span) => span.output.length === 0);
      assert.is(open.length, 1, 'only the last tool has no result yet');
      assert.is(open[0], tools.at(-1));

      assert.is(await exactBytes(service.api, session.first.id, calls), calls.length);
      const coverage = await read<{ requests: number; outcomes: Record<string, number> }>(`${service.api}/v1/coverage`);
      assert.is(coverage.outcomes.captured, calls.length);
      assert.is(coverage.requests, calls.length);
    } finally {
      await service.stop();
      await provider.close();
      await removeFolder(folder);
    }
  });

/** How many recorded request and response bodies come back exact. */
async function exactBytes(api: string, sessionId: string, recorded: readonly RecordedCall[]): Promise<number> {
  const { items } = await read<Turns>(`${api}/v1/sessions/${sessionId}/raw_turns?include=payload&limit=200`);
  const bodies = new Set(items.map(({ payload }) => bytesOf(payload.request).toString('base64')));
  const answers = new Set(items.map(({ payload }) => bytesOf(payload.response).toString('base64')));
  return recorded.filter(
    (call) => bodies.has(call.body.toString('base64')) && answers.has(call.response.toString('base64')),
  ).length;
}

const bytesOf = ({ encoding, body }: { encoding: string; body: string }) =>
  Buffer.from(body, encoding === 'base64' ? 'base64' : 'utf8');

test.run();
