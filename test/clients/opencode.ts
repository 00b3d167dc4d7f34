/** Does real opencode complete a prompt with a tool call and a sub-agent through the proxy, and is all of it recorded? Run by `npm run test:clients`. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { eventually, type Service } from '../support/serve.ts';
import { callsOf, onEmbeddedDatabase, recorded, sessionsOf } from '../support/whole-service.ts';
import { BY_SUB_AGENT, ERRAND, TITLE } from './chat-answers.ts';
import { booked, coverage } from './ledger.ts';
import { runClient, withHome } from './run-client.ts';
import { startShellProvider } from './shell-provider.ts';
import { ANSWER, COMMAND, PRINTED } from './shell-words.ts';

/** It passes on an argument of several words in quotes. */
const passedOn = (prompt: string) => `"${prompt}"`;
const PROMPT = 'How much is six times seven?';
const provider = await startShellProvider();

/** `opencode run` with a provider that leads to the proxy, in a configuration of its own. @returns also the folder that it worked in */
const opencode = ({ proxy }: Service, prompt: string) =>
  withHome(async (home) => {
    const svc = {
      ...{ npm: '@ai-sdk/openai-compatible', name: 'svc' },
      options: { baseURL: `${proxy}/openai/v1`, apiKey: 'dummy' },
      models: { 'gpt-4.1': { name: 'gpt-4.1' } },
    };
    const models = { model: 'svc/gpt-4.1', small_model: 'svc/gpt-4.1', provider: { svc } };
    const config = { autoupdate: false, share: 'disabled', permission: 'allow', ...models };
    await writeFile(join(home, 'opencode.json'), JSON.stringify(config));
    return { ...(await runClient('opencode', ['run', prompt], { home, way: provider.url, env: {} })), home };
  });

onEmbeddedDatabase(
  'opencode through the proxy',
  (test) => {
    test('its prompt is answered with what its shell said, and recorded with its title and its folder', async ({
      service,
    }) => {
      const before = await coverage(service);
      const { status, out, err, home } = await opencode(service, PROMPT);
      assert.is(status, 0, `${out}\n${err}`);
      assert.match(out, ANSWER);

      const session = await recorded(service, passedOn(PROMPT), 3);
      const { harness_id, harness_session_id, cwd, display_title } = session.session as typeof session.session & {
        [name: string]: unknown;
      };
      assert.equal([harness_id, cwd, display_title], ['opencode', home, TITLE]);
      assert.match(harness_session_id, /^ses_/);
      assert.equal(
        session.traces.map(({ trace }) => [trace.user_prompt, trace.response_preview, trace.status]),
        [[passedOn(PROMPT), ANSWER, 'ok']],
      );
      assert.equal(
        callsOf(session).map(({ usage }) => [usage.input_tokens, usage.output_tokens]),
        [
          [100, 10],
          [100, 10],
          [100, 10],
        ],
      );
      const tools = session.traces.flatMap(({ spans }) => spans.filter(({ kind }) => kind === 'tool'));
      assert.equal(
        tools.map(({ name, status }) => [name, status]),
        [['bash', 'ok']],
      );
      assert.is((tools[0]?.input[0]?.tool_input as { command?: string } | undefined)?.command, COMMAND);
      assert.match(tools[0]?.output[0]?.tool_output ?? '', PRINTED);
      assert.equal(await booked(service, before, 3), { requests: 3, outcomes: { captured: 3 } });
    });

    test('its sub-agent is a session of its own, whose parent is the one that sent it out', async ({ service }) => {
      const { status, out, err } = await opencode(service, BY_SUB_AGENT);
      assert.is(status, 0, `${out}\n${err}`);
      const parent = await recorded(service, passedOn(BY_SUB_AGENT), 3);
      const tools = parent.traces.flatMap(({ spans }) => spans.filter(({ kind }) => kind === 'tool'));
      assert.equal(
        tools.map(({ name, status }) => [name, status]),
        [['task', 'ok']],
      );
      assert.match(tools[0]?.output[0]?.tool_output ?? '', ANSWER);
      const child = await recorded(service, ERRAND, 2);
      assert.is((child.session as { parent_session_id?: string }).parent_session_id, parent.session.id);
      assert.equal(
        child.traces.map(({ trace }) => trace.response_preview),
        [ANSWER],
      );
      await eventually('no session beside', async () => (await sessionsOf(service)).length === 3);
    });

    test.after(() => provider.close());
    test.run();
  },
  { SVC_PROXY_UPSTREAMS_OPENAI: provider.url },
);
