/** Do the Python libraries work through the proxy, each in the ways it has, and is all of it recorded? Run by `npm run test:clients`. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type { Service } from '../support/serve.ts';
import { callsOf, onEmbeddedDatabase, recorded } from '../support/whole-service.ts';
import { booked, coverage } from './ledger.ts';
import { PYTHON } from './python-folder.ts';

const LIMIT_MS = 60_000; // of one conversation; a healthy one takes seconds, most of them to load the library
const ANSWER = 'It is 7 degrees in Oslo.';

/** By its name in `python/ways.py`: who the session says it is, and the tokens of both calls together. */
const ways: Record<string, [agent_name: string, input: number, output: number]> = {
  'openai chat': ['openai-python', 2100, 50],
  'openai chat, streamed': ['openai-python', 2100, 50],
  'openai responses': ['openai-python', 2100, 50],
  'openai responses, streamed': ['openai-python', 2100, 50],
  anthropic: ['anthropic-python', 3200, 75],
  'anthropic, streamed': ['anthropic-python', 3200, 75],
  ollama: ['ollama-python', 86, 21],
  'ollama, streamed': ['ollama-python', 86, 21],
  'langchain with openai': ['openai-python', 2100, 50],
  'langchain with anthropic': ['langchain-python', 3200, 75],
  'langchain with ollama': ['ollama-python', 86, 21],
  'litellm with openai': ['openai-python', 2100, 50],
  'litellm with anthropic': ['litellm', 3200, 75],
  'pydantic-ai with openai': ['pydantic-ai', 2100, 50],
  'pydantic-ai with anthropic': ['pydantic-ai', 3200, 75],
};

/** The words that the way printed. @throws {Error} with what it wrote, when it failed */
function answerBy({ proxy }: Service, way: string, question: string): Promise<string> {
  const program = join(PYTHON, 'bin/python');
  const child = spawn(program, [join(import.meta.dirname, 'python/ways.py'), way, question], {
    env: {
      ...{ PATH: process.env.PATH, LANG: 'C.UTF-8', PYTHONDONTWRITEBYTECODE: '1', SVC_PROXY: proxy },
      LITELLM_LOCAL_MODEL_COST_MAP: 'True', // else it fetches a list
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  return new Promise((resolve, failed) => {
    child.once('error', failed);
    child.once('close', (status) => {
      if (status === 0) resolve((JSON.parse(out.trim().split('\n').at(-1) ?? '') as { answer: string }).answer);
      else failed(new Error(`${way} ended with ${status}: ${err.slice(-2000)}`));
    });
  });
}

onEmbeddedDatabase('Python libraries through the proxy', (test) => {
  for (const [way, [agent_name, input, output]] of Object.entries(ways))
    test(`${way}: works unchanged, with its tool, and is recorded with its name and its tokens`, async ({
      service,
    }) => {
      const question = `What is the weather in Oslo, by ${way}?`;
      const before = await coverage(service);
      assert.is(await answerBy(service, way, question), ANSWER);

      const session = await recorded(service, question, 2);
      const stored = session.session as unknown as { agent_name?: string; display_title: string };
      assert.equal([stored.agent_name, stored.display_title], [agent_name, question]);
      assert.equal(
        session.traces.map(({ trace }) => [trace.user_prompt, trace.response_preview, trace.status]),
        [[question, ANSWER, 'ok']],
      );
      const { usage } = session.session.rollup;
      assert.equal([usage.input_tokens, usage.output_tokens], [input, output]);
      assert.is(callsOf(session).length, 2);
      const tools = session.traces.flatMap(({ spans }) => spans.filter(({ kind }) => kind === 'tool'));
      assert.equal(
        tools.map(({ name, status, output: [result] }) => [name, status, result?.tool_output]),
        [['get_weather', 'ok', '7 C, rain']],
      );
      assert.equal(await booked(service, before, 2), { requests: 2, outcomes: { captured: 2 } });
    });
  test.run();
});
