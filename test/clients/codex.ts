/** Does real Codex complete a prompt with a tool call through the proxy, and is all of it recorded? Run by `npm run test:clients`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type { Service } from '../support/serve.ts';
import { callsOf, onEachDatabase, recorded } from '../support/whole-service.ts';
import { booked, coverage } from './ledger.ts';
import { type Ran, runClient, withHome } from './run-client.ts';
import { startShellProvider } from './shell-provider.ts';
import { ANSWER, COMMAND, PRINTED } from './shell-words.ts';

const provider = await startShellProvider();
let databases = 0; // that are still to be tried

/** `codex exec` with the provider that the README says, in a configuration of its own. */
const codex = ({ proxy }: Service, prompt: string, { sockets }: { sockets: boolean }): Promise<Ran> =>
  withHome(async (home) => {
    await mkdir(join(home, '.codex'));
    await writeFile(
      join(home, '.codex', 'config.toml'),
      `model = "gpt-5"
model_provider = "svc"
approval_policy = "never"
sandbox_mode = "danger-full-access" # a sandbox of its own needs rights that a container has not
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.svc]
name = "svc"
base_url = "${proxy}/openai/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
supports_websockets = ${sockets}
stream_max_retries = 1 # else it tries a refused socket for long
`,
    );
    return runClient('codex', ['exec', '--skip-git-repo-check', prompt], {
      home,
      way: provider.url,
      env: { OPENAI_API_KEY: 'dummy' },
    });
  });

const ways = [
  { over: 'HTTP', sockets: false, taken: true },
  { over: 'a WebSocket', sockets: true, taken: true },
  { over: 'HTTP, for its WebSocket is refused', sockets: true, taken: false },
];

onEachDatabase(
  'Codex through the proxy',
  (test) => {
    for (const { over, sockets, taken } of ways) {
      test(`over ${over}: a prompt is answered with what the shell said, and recorded with that call`, async ({
        service,
      }) => {
        const prompt = `What is six times seven? Ask the shell (over ${over}).`;
        const before = await coverage(service);
        const linesBefore = provider.requestLines.length;
        provider.takesSockets = taken;
        const { status, out, err } = await codex(service, prompt, { sockets });
        assert.is(status, 0, `${out}\n${err}`);
        assert.is(out.trim(), ANSWER);

        const warmUps = sockets && taken ? 1 : 0; // a call ahead, with neither prompt nor answer
        const session = await recorded(service, prompt, warmUps + 2);
        const id = /session id: (\S+)/.exec(err)?.[1];
        assert.equal([session.session.harness_id, session.session.harness_session_id], ['codex', id]);
        assert.equal(
          session.traces.map(({ trace }) => [trace.user_prompt, trace.response_preview, trace.status]),
          [[prompt, ANSWER, 'ok']],
        );
        assert.equal(
          callsOf(session)
            .slice(warmUps)
            .map(({ stop_reason, usage }) => [stop_reason, usage.input_tokens, usage.output_tokens]),
          [
            ['tool_calls', 100, 10],
            ['stop', 100, 10],
          ],
        );
        const tools = session.traces.flatMap(({ spans }) => spans.filter(({ kind }) => kind === 'tool'));
        assert.equal(
          tools.map(({ name, status }) => [name, status]),
          [['Bash', 'ok']],
        );
        assert.equal(tools[0]?.input[0]?.tool_input, { cmd: COMMAND });
        assert.match(tools[0]?.output[0]?.tool_output ?? '', PRINTED);

        const upgrades = provider.requestLines
          .slice(linesBefore)
          .filter((line) => line === 'UPGRADE /v1/responses').length;
        assert.is(upgrades > 0, sockets);
        const captured = warmUps + 2;
        assert.equal(await booked(service, before, captured + upgrades), {
          requests: captured + upgrades,
          outcomes: { captured, ...(upgrades && { not_a_turn: upgrades }) },
        });
      });
    }

    databases++;
    test.after(async () => {
      if (--databases === 0) await provider.close();
    });
    test.run();
  },
  { SVC_PROXY_UPSTREAMS_OPENAI: provider.url },
);
