/** Ollama's chat as it looks on the wire: one JSON object per line; the last one counts the tokens. */
import { type DemoLine, pieces, type ScriptedAnswer, type Wire } from './script.ts';

export const ollamaWire: Wire = {
  provider: 'ollama',
  path: '/api/chat',
  contentType: 'application/x-ndjson',
  request: (script, history) => ({
    model: script.model,
    stream: true,
    options: { num_ctx: 16_384 },
    messages: [{ role: 'system', content: script.system }, ...history.flatMap(messagesOf)],
    tools: script.tools.map((declared) => ({ type: 'function', function: declared })),
  }),
  answer(answer, { model, at, spent }) {
    const head = { model, created_at: at.toISOString() };
    const tool_calls = toolCalls(answer);
    const line = (message: object) => ({ ...head, message: { role: 'assistant', ...message }, done: false });
    const ns = (tokens: number, perSecond: number) => Math.round((tokens / perSecond) * 1e9);
    const counts = {
      load_duration: 24_000_000,
      prompt_eval_count: spent.input,
      prompt_eval_duration: ns(spent.input, 1800),
      eval_count: spent.output,
      eval_duration: ns(spent.output, 22),
    };
    const total_duration = counts.load_duration + counts.prompt_eval_duration + counts.eval_duration;
    return [
      ...pieces(answer.text).map((content) => line({ content })),
      ...(tool_calls.length > 0 ? [line({ content: '', tool_calls })] : []),
      { ...line({ content: '' }), done: true, done_reason: 'stop', total_duration, ...counts },
    ]
      .map((json) => `${JSON.stringify(json)}\n`)
      .join('');
  },
  refusal: ({ message }) => JSON.stringify({ error: message }),
};

function messagesOf(line: DemoLine): object[] {
  if (line.kind === 'asks') return [{ role: 'user', content: line.text }];
  const tool_calls = toolCalls(line);
  return [
    { role: 'assistant', content: line.text, ...(tool_calls.length > 0 && { tool_calls }) },
    ...line.uses.map(({ tool, result }) => ({ role: 'tool', tool_name: tool, content: result })),
  ];
}

const toolCalls = ({ uses }: ScriptedAnswer) =>
  uses.map(({ tool, input }) => ({ function: { name: tool, arguments: input } }));
