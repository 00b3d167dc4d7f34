/** The conversation of the demo: a question that takes two tools to answer, sent through the proxy with OpenAI's own client. */
import OpenAI from 'openai';

export const QUESTION = 'Which is the last ferry to Limni tonight that has room for two bicycles?';
export const TOOLS = 2;
export const CALLS = TOOLS + 1; // one for the question, and one for each tool's result

const MODEL = 'gpt-4.1-mini';

const FILES: Record<string, string> = {
  'README.md': 'Crossings of today are in timetable.csv, the rules for what may come aboard in rules.md.\n',
  'rules.md': 'Bicycles ride for free where there is room. Dogs need a leash. Cars have a deck of their own.\n',
  'timetable.csv': `departs,from,to,bicycles
17:30,Skala,Limni,0
19:10,Skala,Limni,6
21:40,Skala,Limni,4
23:05,Skala,Limni,1
`,
};

/** @param print called with each line as it is said: by whom, and what */
export async function converse(proxy: string, print: (who: string, what: string) => void): Promise<void> {
  const client = new OpenAI({
    baseURL: `${proxy}/openai/v1`,
    apiKey: 'demo', // the scripted provider ignores it
    organization: null,
    project: null,
    maxRetries: 0,
    logLevel: 'off',
  });
  print('you', QUESTION);
  const runner = client.chat.completions.runTools({
    model: MODEL,
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: QUESTION }],
    tools: [listFiles, readFile],
  });
  runner.on('message', (message) => {
    if (message.role === 'tool') print('tool', String(message.content).trim().replaceAll('\n', ' | '));
    if (message.role !== 'assistant') return;
    print('model', String(message.content));
    for (const call of message.tool_calls ?? [])
      if (call.type === 'function') print('', `calls ${call.function.name}(${call.function.arguments})`);
  });
  await runner.done();
}

const listFiles = {
  type: 'function' as const,
  function: {
    name: 'list_files',
    description: 'The files of the harbour office',
    parameters: { type: 'object', properties: {} },
    function: () => Object.keys(FILES).join('\n'),
  },
};

const readFile = {
  type: 'function' as const,
  function: {
    name: 'read_file',
    description: 'What stands in a file',
    parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    parse: (json: string) => JSON.parse(json) as { path: string },
    function: ({ path }: { path: string }) => FILES[path] ?? 'There is no such file',
  },
};
