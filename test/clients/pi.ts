/** Does real pi complete a prompt with a tool call through the proxy, and is all of it recorded? Run by `npm run test:clients`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type { Service } from '../support/serve.ts';
import { callsOf, onEmbeddedDatabase, recorded } from '../support/whole-service.ts';
import { booked, coverage } from './ledger.ts';
import { runClient, withHome } from './run-client.ts';
import { startShellProvider } from './shell-provider.ts';
import { ANSWER, COMMAND, PRINTED } from './shell-words.ts';

const PROMPT = 'What is six times seven? Ask the shell.';
const provider = await startShellProvider();

/** `pi -p` with a provider that leads to the proxy. @returns also the folder that it worked in */
const pi = ({ proxy }: Service, prompt: string) =>
  withHome(async (home) => {
    const svc = {
      ...{ baseUrl: `${proxy}/openai/v1`, api: 'openai-completions', apiKey: 'dummy' },
      models: [{ id: 'gpt-4.1' }],
    };
    await mkdir(join(home, '.pi/agent'), { recursive: true });
    await writeFile(join(home, '.pi/agent/models.json'), JSON.stringify({ providers: { svc } }));
    const args = ['-p', '--provider', 'svc', '--model', 'gpt-4.1', prompt];
    return { ...(await runClient('pi', args, { home, way: provider.url, env: {} })), home };
  });

onEmbeddedDatabase(
  'pi through the proxy',
  (test) => {
    test('its prompt is answered with what its shell said, and recorded with its name and its folder', async ({
      service,
    }) => {
      const before = await coverage(service);
      const { status, out, err, home } = await pi(service, PROMPT);
      assert.is(status, 0, `${out}\n${err}`);
      assert.is(out.trim(), ANSWER);

      const session = await recorded(service, PROMPT, 2);
      const { cwd, agent_name, display_title } = session.session as unknown as Record<string, unknown>;
      assert.equal([agent_name, cwd, display_title], ['pi', home, PROMPT]); // it asks nobody for a title
      assert.equal(
        session.traces.map(({ trace }) => [trace.user_prompt, trace.response_preview, trace.status]),
        [[PROMPT, ANSWER, 'ok']],
      );
      assert.equal(
        callsOf(session).map(({ stop_reason, usage }) => [stop_reason, usage.input_tokens, usage.output_tokens]),
        [
          ['tool_calls', 100, 10],
          ['stop', 100, 10],
        ],
      );
      const tools = session.traces.flatMap(({ spans }) => spans.filter(({ kind }) => kind === 'tool'));
      assert.equal(
        tools.map(({ name, status }) => [name, status]),
        [['bash', 'ok']],
      );
      assert.is((tools[0]?.input[0]?.tool_input as { command?: string } | undefined)?.command, COMMAND);
      assert.match(tools[0]?.output[0]?.tool_output ?? '', PRINTED);
      assert.equal(await booked(service, before, 2), { requests: 2, outcomes: { captured: 2 } });
    });

    test.after(() => provider.close());
    test.run();
  },
  { SVC_PROXY_UPSTREAMS_OPENAI: provider.url },
);
