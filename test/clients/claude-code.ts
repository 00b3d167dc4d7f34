/** Does real Claude Code complete a prompt with a tool call through the proxy, and is all of it recorded? Run by `npm run test:clients`. */
import * as assert from 'uvu/assert';
import { eventually, read, type Service } from '../support/serve.ts';
import { callsOf, onEachDatabase, recorded } from '../support/whole-service.ts';
import { booked, coverage } from './ledger.ts';
import { type Ran, runClient, withHome } from './run-client.ts';
import { startShellProvider } from './shell-provider.ts';
import { ANSWER, COMMAND, PRINTED } from './shell-words.ts';

const PROMPT = 'What is six times seven? Ask the shell.';

const provider = await startShellProvider();
let databases = 0; // that are still to be tried

/** `claude` with one prompt, as the README says. @param more variables besides; `model` is an option of its own */
const claude = (service: Service, prompt: string, more: Variables = {}): Promise<Ran> =>
  withHome((home) => claudeAt(home, service, prompt, more));

type Variables = { model?: string; [variable: string]: string };

const claudeAt = (
  home: string,
  { proxy }: Service,
  prompt: string,
  { model, ...more }: Variables = {},
  options: readonly string[] = [],
): Promise<Ran> =>
  runClient(
    'claude',
    [
      '-p',
      prompt,
      '--output-format',
      'json',
      '--allowedTools',
      'Bash',
      ...(model ? ['--model', model] : []),
      ...options,
    ],
    {
      home,
      way: provider.url,
      env: {
        ANTHROPIC_BASE_URL: `${proxy}/anthropic`,
        ANTHROPIC_API_KEY: 'dummy',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        DISABLE_TELEMETRY: '1',
        ...more,
      },
    },
  );

type Listed = { id: string; harness_session_id: string; fork_of_session_id?: string };
type RawTurns = { items: { payload: { request: { headers: [string, string][]; body: string } } }[] };

/** What it took its model for, and what its first call held by then. */
async function firstCallWith(service: Service, prompt: string, options: Record<string, string>) {
  const { status, out, err } = await claude(service, prompt, options);
  assert.is(status, 0, `${out}\n${err}`);
  const [used] = Object.values(JSON.parse(out).modelUsage as Record<string, { contextWindow: number }>);
  const { session } = await recorded(service, prompt, 2);
  const { items } = await read<RawTurns>(`${service.api}/v1/sessions/${session.id}/raw_turns?include=payload`);
  const { headers = [], body = '{}' } = items[0]?.payload.request ?? {};
  const { tools } = JSON.parse(body) as { tools: { name: string }[] };
  const beta = headers.find(([name]) => name === 'anthropic-beta')?.[1] ?? '';
  return { contextWindow: used?.contextWindow, tools: tools.map(({ name }) => name), beta };
}

onEachDatabase(
  'Claude Code through the proxy',
  (test) => {
    test('its prompt is answered with what its shell said, and recorded with the call of the shell', async ({
      service,
    }) => {
      const before = await coverage(service);
      const linesBefore = provider.requestLines.length;
      const { status, out, err } = await claude(service, PROMPT);
      assert.is(status, 0, `${out}\n${err}`);
      const report = JSON.parse(out);
      assert.equal([report.is_error, report.result], [false, ANSWER]);

      const session = await recorded(service, PROMPT, 2);
      assert.equal([session.session.harness_id, session.session.harness_session_id], ['claude', report.session_id]);
      assert.equal(
        session.traces.map(({ trace }) => [trace.user_prompt, trace.response_preview, trace.status]),
        [[PROMPT, ANSWER, 'ok']],
      );
      const calls = callsOf(session);
      assert.equal(
        calls.map(({ stop_reason, usage }) => [stop_reason, usage.input_tokens, usage.output_tokens]),
        [
          ['tool_use', 100, 10],
          ['end_turn', 100, 10],
        ],
      );
      const tools = session.traces.flatMap(({ spans }) => spans.filter(({ kind }) => kind === 'tool'));
      assert.equal(
        tools.map(({ name, status }) => [name, status]),
        [['Bash', 'ok']],
      );
      assert.is((tools[0]?.input[0]?.tool_input as { command?: string } | undefined)?.command, COMMAND);
      assert.match(tools[0]?.output[0]?.tool_output ?? '', PRINTED);

      const sent = provider.requestLines.slice(linesBefore);
      const turns = sent.filter((line) => line === 'POST /v1/messages').length;
      const { requests, outcomes } = await booked(service, before, sent.length);
      const others = requests - turns; // that it is there, asked with HEAD
      assert.equal([requests, outcomes], [sent.length, { captured: turns, ...(others && { not_a_turn: others }) }]);
    });

    test('a session that it forks says where it comes from, and which call it goes on from', async ({ service }) => {
      await withHome(async (home) => {
        const opening = 'What is six times seven, before the fork?';
        const first = await claudeAt(home, service, opening);
        assert.is(first.status, 0, `${first.out}\n${first.err}`);
        const origin = JSON.parse(first.out).session_id as string;
        const prompt = 'What is it after the fork?';
        const second = await claudeAt(home, service, prompt, {}, ['--resume', origin, '--fork-session']);
        assert.is(second.status, 0, `${second.out}\n${second.err}`);
        const fork = JSON.parse(second.out).session_id as string;
        assert.is.not(fork, origin);

        const [from, to] = await eventually('where the fork comes from', async () => {
          const { items } = await read<{ items: Listed[] }>(`${service.api}/v1/sessions`);
          const both = [origin, fork].map((id) => items.find(({ harness_session_id }) => harness_session_id === id));
          return both[1]?.fork_of_session_id ? both : null;
        });
        assert.is(to?.fork_of_session_id, from?.id);
        await eventually('the link to the call that it goes on from', async () => {
          const { links } = await read<{ links: { kind: string }[] }>(`${service.api}/v1/sessions/${to?.id}/traces`);
          return links.filter(({ kind }) => kind === 'fork-of').length === 1;
        });
      });
    });

    test('it leaves things out behind a base URL, and has them back as the README says', async ({ service }) => {
      const bare = await firstCallWith(service, 'Is anything missing?', { model: 'opus' });
      const whole = await firstCallWith(service, 'Is all of it there?', {
        model: 'opus[1m]',
        ENABLE_TOOL_SEARCH: 'true',
      });
      assert.equal([bare.contextWindow, whole.contextWindow], [200_000, 1_000_000]);
      assert.not.ok(bare.tools.includes('ToolSearch'));
      assert.ok(whole.tools.includes('ToolSearch'));
      assert.ok(whole.tools.length < bare.tools.length, `${whole.tools.length} tools instead of ${bare.tools.length}`);
      assert.match(whole.beta, 'context-1m-');
    });

    databases++;
    test.after(async () => {
      if (--databases === 0) await provider.close();
    });
    test.run();
  },
  { SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url },
);
