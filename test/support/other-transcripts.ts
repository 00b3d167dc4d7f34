/** A conversation with a tool, as the transcripts of Gemini CLI, opencode and pi hold it; one call is billed 100, 10 of them from the cache, and 20. */

const at = (second: number) => new Date(Date.UTC(2026, 6, 27, 9, 0, second)).toISOString();

const geminiTokens = { input: 100, output: 15, cached: 10, thoughts: 5, tool: 0, total: 120 };
const call = { id: 'call_1', name: 'run_shell_command', args: { command: 'ls' }, status: 'success' };
const result = { functionResponse: { id: 'call_1', name: 'run_shell_command', response: { output: 'a.txt' } } };
const asks = {
  id: 'm2',
  timestamp: at(3),
  type: 'gemini',
  content: '',
  model: 'gemini-2.5-flash',
  tokens: geminiTokens,
};

export const geminiChat: object[] = [
  { sessionId: 's1', projectHash: 'f00', startTime: at(0), lastUpdated: at(0), kind: 'main' },
  {
    $set: {
      messages: [
        {
          id: 'm0',
          timestamp: at(1),
          type: 'user',
          content: [{ text: '<session_context>\n- **Workspace Directories:**\n  - /home/ada\n</session_context>' }],
        },
      ],
    },
  },
  { id: 'm1', timestamp: at(2), type: 'user', content: [{ text: 'What is here?' }] },
  { ...asks, thoughts: [{ subject: 'Look', description: 'I list the folder' }] },
  {
    ...asks,
    thoughts: [{ subject: 'Look', description: 'I list the folder' }],
    toolCalls: [{ ...call, result: [result] }],
  },
  { id: 'm3', timestamp: at(4), type: 'user', content: [result] },
  { $set: { lastUpdated: at(4) } },
  {
    id: 'm4',
    timestamp: at(5),
    type: 'gemini',
    content: 'A file.',
    thoughts: [],
    tokens: geminiTokens,
    model: 'gemini-2.5-flash',
  },
  { id: 'm5', timestamp: at(6), type: 'info', content: 'a notice' },
];

const opencodeTokens = { total: 120, input: 90, output: 15, reasoning: 5, cache: { read: 10, write: 0 } };
const opencodeAnswer = (id: string, second: number, finish: string, parts: object[]) => ({
  ...{ type: 'message', timestamp: at(second), parts },
  info: {
    ...{
      id,
      sessionID: 'ses_1',
      role: 'assistant',
      modelID: 'gpt-4.1',
      providerID: 'openai',
      finish,
      tokens: opencodeTokens,
    },
    time: { created: Date.parse(at(second)), completed: Date.parse(at(second)) + 500 },
  },
});

export const opencodeChat: object[] = [
  {
    ...{ type: 'session', timestamp: at(1) },
    info: { id: 'ses_1', directory: '/home/ada', title: 'What is here', version: '1.18.33' },
  },
  {
    ...{ type: 'message', timestamp: at(2), info: { id: 'msg_1', role: 'user', model: { providerID: 'openai' } } },
    parts: [{ type: 'text', text: 'What is here?' }],
  },
  opencodeAnswer('msg_2', 3, 'tool-calls', [
    { type: 'step-start' },
    { type: 'reasoning', text: 'I list the folder' },
    {
      ...{ type: 'tool', tool: 'bash', callID: 'call_1' },
      state: { status: 'completed', input: { command: 'ls' }, output: 'a.txt' },
    },
  ]),
  opencodeAnswer('msg_3', 5, 'stop', [{ type: 'text', text: 'A file.' }]),
];

const piEntry = (id: string, parentId: string | null, second: number, rest: object) => ({
  type: 'message',
  id,
  parentId,
  timestamp: at(second),
  ...rest,
});
const piUsage = { input: 90, output: 20, cacheRead: 10, cacheWrite: 0, totalTokens: 120 };
const piAnswer = (content: object[], stopReason: string) => ({
  message: {
    role: 'assistant',
    content,
    api: 'openai-completions',
    provider: 'openai',
    model: 'gpt-4.1',
    usage: piUsage,
    stopReason,
  },
});

export const piChat: object[] = [
  { type: 'session', version: 3, id: 's1', timestamp: at(0), cwd: '/home/ada' },
  { ...piEntry('e1', null, 1, {}), type: 'model_change', provider: 'openai', modelId: 'gpt-4.1' },
  piEntry('e2', 'e1', 2, { message: { role: 'user', content: [{ type: 'text', text: 'What is here?' }] } }),
  piEntry(
    'e3',
    'e2',
    3,
    piAnswer(
      [
        { type: 'thinking', thinking: 'I list the folder' },
        { type: 'toolCall', id: 'call_1', name: 'bash', arguments: { command: 'ls' } },
      ],
      'toolUse',
    ),
  ),
  piEntry('e4', 'e3', 4, {
    message: {
      role: 'toolResult',
      toolCallId: 'call_1',
      toolName: 'bash',
      content: [{ type: 'text', text: 'a.txt' }],
      isError: false,
    },
  }),
  piEntry('e5', 'e4', 5, piAnswer([{ type: 'text', text: 'A file.' }], 'stop')),
];
