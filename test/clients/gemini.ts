/** Does the real Gemini CLI complete a prompt with a tool call through the proxy, and is all of it recorded? Run by `npm run test:clients`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { eventually, read, type Service } from '../support/serve.ts';
import { callsOf, onEmbeddedDatabase, type Recorded, sessionsOf } from '../support/whole-service.ts';
import { COMMAND } from './gemini-answers.ts';
import { booked, coverage } from './ledger.ts';
import { runClient, withHome } from './run-client.ts';
import { startShellProvider } from './shell-provider.ts';
import { ANSWER, PRINTED } from './shell-words.ts';

const PROMPT = 'What is six times seven? Ask the shell.';
const KEY = 'AIzaSyPlanted-0123456789-0123456789-abcde';
const provider = await startShellProvider();

/** `gemini -p` with a key, and the address of the proxy. */
const gemini = ({ proxy }: Service, prompt: string) =>
  withHome(async (home) => {
    const settings = {
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
      general: { disableAutoUpdate: true, disableUpdateNag: true },
    };
    await mkdir(join(home, '.gemini'), { recursive: true });
    await writeFile(join(home, '.gemini/settings.json'), JSON.stringify(settings));
    const args = ['--model', 'gemini-2.5-flash', '--approval-mode', 'yolo', '--skip-trust', '--prompt', prompt];
    const env = { GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: `${proxy}/gemini`, GEMINI_CLI_TRUST_WORKSPACE: 'true' };
    return runClient('gemini', args, { home, way: provider.url, env });
  });

onEmbeddedDatabase(
  'the Gemini CLI through the proxy',
  (test) => {
    test('its prompt is answered with what its shell said, and recorded as one session', async ({ service }) => {
      const before = await coverage(service);
      const { status, out, err } = await gemini(service, PROMPT);
      assert.is(status, 0, `${out}\n${err}`);
      assert.match(out, ANSWER);

      const session = await eventually('a session with both calls', async () => {
        for (const { id } of await sessionsOf(service)) {
          const whole = await read<Recorded>(`${service.api}/v1/sessions/${id}/traces`);
          const calls = callsOf(whole);
          if (calls.length === 2 && calls.every((call) => call.status === 'ok')) return whole;
        }
        return null;
      });
      const [first, second] = callsOf(session);
      assert.equal(
        [first, second].map((call) => [call?.stop_reason, call?.usage.input_tokens, call?.usage.output_tokens]),
        [
          ['STOP', 100, 10],
          ['STOP', 100, 10],
        ],
      );
      assert.equal(first?.input.at(-1), { type: 'text', text: PROMPT });
      assert.equal(second?.output, [{ type: 'text', text: ANSWER }]);
      const tools = session.traces.flatMap(({ spans }) => spans.filter(({ kind }) => kind === 'tool'));
      assert.equal(
        tools.map(({ name, status }) => [name, status]),
        [['run_shell_command', 'ok']],
      );
      assert.is((tools[0]?.input[0]?.tool_input as { command?: string } | undefined)?.command, COMMAND);
      assert.match(tools[0]?.output[0]?.tool_output ?? '', PRINTED);
      assert.not.match(JSON.stringify(session), KEY);
      const { outcomes } = await booked(service, before, 2);
      assert.equal(outcomes, { captured: 2 });
    });

    test.after(() => provider.close());
    test.run();
  },
  { SVC_PROXY_UPSTREAMS_GEMINI: provider.url },
);
