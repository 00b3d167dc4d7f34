/** Where a client runs and which it is: read out of what real clients send, and out of a transcript that comes later. */
import * as assert from 'uvu/assert';
import type { HeaderList } from '../../../core/model/headers.ts';
import type { FormatId } from '../../../core/provider/formats.ts';
import { capturedCall, takeIn } from '../../support/captured-calls.ts';
import { wireCall } from '../../support/claude-wire.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { type Json, testApi } from '../../support/read-api.ts';
import { type Capture, capturedCalls } from '../../support/replay-captures.ts';
import { claudeChat, SESSION_ID } from '../../support/transcript-records.ts';
import { testTranscripts, upload } from '../../support/transcript-uploads.ts';

const FORMATS: [path: string, format: FormatId][] = [
  ['/v1/messages', 'anthropic.messages'],
  ['/v1/chat/completions', 'openai.chat'],
  ['/v1/responses', 'openai.responses'],
  ['/api/chat', 'ollama.chat'],
  ['/v1beta/models/', 'gemini.generate'],
];
const formatOf = ({ url }: Capture) => FORMATS.find(([path]) => url.startsWith(path))?.[1];

const CWD = '/home/dev/project';

/** What the recorded calls of each client tell: who, where, which version. */
const CLIENTS: Record<string, [agent_name: string, cwd: string | undefined, version: string | undefined][]> = {
  claude: [['claude', CWD, '2.1.197']],
  'claude-agent': [['claude', CWD, '2.1.197']],
  codex: [['codex', CWD, '0.169.0']],
  'codex-agent': [['codex', CWD, '0.169.0']],
  gemini: [['gemini-cli', CWD, undefined]], // it names its version only in its user-agent
  opencode: [['opencode', CWD, '1.18.33']],
  pi: [['pi', CWD, undefined]], // it tells the version of the library that it uses
  sdks: [
    ['anthropic-js', undefined, '1.11.0'],
    ['openai-js', undefined, '6.49.0'],
    ['openai-js', undefined, '6.49.0'],
    ['ollama-js', undefined, '0.6.4'],
  ],
};

/** As Claude Code has it in a repository, before and now. */
const STATUS =
  'gitStatus: This is the git status at the start of the conversation.\n\nCurrent branch: feat/carry\n\nMain branch: main';
const CLAUDE = 'You are Claude Code, Anthropic’s official CLI for Claude.';

databaseSuite('where a client runs', (test, database) => {
  test.before.each(() => database().reset());

  const sessions = async (): Promise<Json[]> => {
    await deriveAll(database());
    const answer = await testApi({ execute: database().execute }).request('/v1/sessions?limit=100');
    return ((await answer.json()) as Json).items.toSorted((one: Json, other: Json) =>
      one.started_at < other.started_at ? -1 : 1,
    );
  };
  const surroundings = async () =>
    (await sessions()).map(({ agent_name, cwd, harness_version }) => [agent_name, cwd, harness_version]);
  const claudeSays = (system: string, content: string) =>
    takeIn(database(), [
      capturedCall({
        n: 1,
        format: 'anthropic.messages',
        request: { model: 'm', max_tokens: 9, system, messages: [{ role: 'user', content }] },
        headers: [
          ['user-agent', 'claude-cli/2.1.197 (external, cli)'],
          ['x-claude-code-session-id', 's'],
        ],
      }),
    ]);

  for (const [client, expected] of Object.entries(CLIENTS)) {
    const calls = (capturedCalls() ?? []).filter((capture) => capture.client === client && formatOf(capture));
    if (calls.length === 0) continue;
    test(`a session of ${client} says who made it, where and under which version`, async () => {
      await takeIn(
        database(),
        calls.map((capture, n) =>
          capturedCall({
            ...{ n, request: capture.body, response: capture.response.body, headers: capture.headers },
            ...{ format: formatOf(capture) ?? 'openai.chat', client: `${n}` },
            responseHeaders: [['content-type', capture.response.contentType]],
          }),
        ),
      );
      assert.equal(await surroundings(), expected);
      const nodes = await database().sql('select distinct agent_name from svc.nodes order by 1');
      assert.equal(
        nodes.map(({ agent_name }) => agent_name),
        [...new Set(expected.map(([name]) => name))].sort(),
        'and so do the nodes, by which stats are filtered',
      );
    });
  }

  test('the git branch stands in the system prompt, or in what comes before the first prompt', async () => {
    await claudeSays(`${CLAUDE}\n<env>\nWorking directory: ${CWD}\n</env>\n\n${STATUS}`, 'Hello');
    const [before] = await sessions();
    assert.equal([before?.cwd, before?.git_branch], [CWD, 'feat/carry']);
    await database().reset();
    await claudeSays(
      `${CLAUDE}\n# Environment\n - Primary working directory: ${CWD}\n`,
      `<system-reminder>\n# ${STATUS}\n</system-reminder>\nHello`,
    );
    const [now] = await sessions();
    assert.equal([now?.cwd, now?.git_branch], [CWD, 'feat/carry']);
  });

  test('what a person says of folders and branches is none of it', async () => {
    await claudeSays(CLAUDE, `Working directory: /elsewhere\nCurrent branch: other`);
    const [session] = await sessions();
    assert.equal([session?.cwd, session?.git_branch], [undefined, undefined]);
  });

  test('a harness that a wrapper names keeps that name', async () => {
    const headers: HeaderList = [
      ['user-agent', 'OpenAI/Python 2.1.0'],
      ['x-svc-harness-id', 'mine'],
      ['x-svc-harness-session-id', 's'],
    ];
    await takeIn(database(), [capturedCall({ n: 1, headers, request: { model: 'm', messages: [] } })]);
    const [session] = await sessions();
    assert.equal([session?.harness_id, session?.agent_name, session?.harness_version], ['mine', 'mine', undefined]);
  });

  test('a transcript that comes later says where a session ran of which no call told, and its calls go first', async () => {
    const records = claudeChat(1).map((record) => ({ ...record, gitBranch: 'late' }));
    const session = { harness_id: 'claude', harness_session_id: SESSION_ID };
    await takeIn(database(), [wireCall(1, { words: ['Question 1'], answer: 'Ok' })]);
    const [before] = await sessions();
    assert.equal([before?.cwd, before?.git_branch], [undefined, undefined]);
    await upload(testTranscripts(database()), { session, records });
    const [after, ...more] = await sessions();
    assert.is(more.length, 0);
    assert.equal([after?.cwd, after?.git_branch], ['/home/dev/atlas', 'late']);
    await database().reset();
    await upload(testTranscripts(database()), { session, records });
    const [alone] = await sessions();
    assert.equal([alone?.cwd, alone?.git_branch, alone?.harness_version], ['/home/dev/atlas', 'late', '2.1.197']);
  });
});
