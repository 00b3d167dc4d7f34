/** Is a conversation of Vercel's AI SDK one session, though it sends former answers by reference? Run by `npm run test:clients`. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as assert from 'uvu/assert';
import { callsOf, onEmbeddedDatabase, recorded } from '../support/whole-service.ts';
import { booked, coverage } from './ledger.ts';
import { startShellProvider } from './shell-provider.ts';
import { ANSWER, PRINTED } from './shell-words.ts';

type Turn = { text: string; response: { messages: unknown[] } };
/** What is used of packages that only this folder has. */
type AiSdk = {
  generateText(options: object): Promise<Turn>;
  stepCountIs(steps: number): unknown;
  tool(definition: object): unknown;
};
type OpenAi = { createOpenAI(settings: object): (model: string) => unknown };
type Zod = { z: { object(shape: object): unknown; string(): unknown } };

const installed = async <Package>(path: string): Promise<Package> =>
  (await import(pathToFileURL(join(import.meta.dirname, 'node_modules', path)).href)) as Package;

const { generateText, stepCountIs, tool } = await installed<AiSdk>('ai/dist/index.mjs');
const { createOpenAI } = await installed<OpenAi>('@ai-sdk/openai/dist/index.mjs');
const { z } = await installed<Zod>('zod/index.js');

const PROMPTS = ['What is six times seven? Ask the shell.', 'Are you sure?', 'Thank you.'];
const provider = await startShellProvider();

onEmbeddedDatabase(
  "Vercel's AI SDK through the proxy",
  (test) => {
    test('each answer goes back by reference, and all calls are one conversation', async ({ service }) => {
      const before = await coverage(service);
      const options = {
        model: createOpenAI({ baseURL: `${service.proxy}/openai/v1`, apiKey: 'dummy' })('gpt-5'),
        stopWhen: stepCountIs(4),
        system: 'Be brief',
        tools: {
          exec_command: tool({
            description: 'Runs a command',
            inputSchema: z.object({ cmd: z.string() }),
            execute: () => Promise.resolve(PRINTED),
          }),
        },
      };
      const messages: unknown[] = [];
      for (const content of PROMPTS) {
        messages.push({ role: 'user', content });
        const { text, response } = await generateText({ ...options, messages });
        assert.is(text, ANSWER);
        messages.push(...response.messages);
      }
      assert.match(provider.bodies.at(-1) ?? '', '"type":"item_reference"');

      const session = await recorded(service, PROMPTS[0] ?? '', 4);
      assert.equal(
        session.traces.map(({ trace }) => [trace.user_prompt, trace.response_preview, trace.status]),
        PROMPTS.map((prompt) => [prompt, ANSWER, 'ok']),
      );
      assert.equal(
        callsOf(session).map(({ stop_reason }) => stop_reason),
        ['tool_calls', 'stop', 'stop', 'stop'],
      );
      assert.equal(await booked(service, before, 4), { requests: 4, outcomes: { captured: 4 } });
    });

    test.after(() => provider.close());
    test.run();
  },
  { SVC_PROXY_UPSTREAMS_OPENAI: provider.url },
);
