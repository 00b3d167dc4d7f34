/** OpenAI Responses as they look on the wire: requests as Codex sends them, with its whole history in `input`, and OpenAI's streams. */
import { type DemoLine, type NumberedAnswer, pieces, toolCallId, type Wire } from './script.ts';

type Item = { type: string; id: string } & Record<string, unknown>;

export const responsesWire: Wire = {
  provider: 'openai',
  path: '/v1/responses',
  contentType: 'text/event-stream; charset=utf-8',
  request: (script, history) => ({
    model: script.model,
    instructions: script.system,
    input: history.flatMap((line) => inputOf(script.slug, line)),
    tools: script.tools.map(({ name, description, parameters }) => ({
      type: 'function',
      name,
      description,
      strict: false,
      parameters,
    })),
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { summary: 'auto' },
    store: false,
    stream: true,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: `demo-${script.slug}`,
  }),
  answer(answer, { slug, model, n, at, spent }) {
    const output = itemsOf(slug, answer);
    const response = {
      id: `resp_demo_${slug}_${n}`,
      object: 'response',
      created_at: Math.floor(at.getTime() / 1000),
      model,
    };
    const usage = {
      input_tokens: spent.input,
      input_tokens_details: { cached_tokens: spent.cached },
      output_tokens: spent.output,
      output_tokens_details: { reasoning_tokens: spent.reasoning },
      total_tokens: spent.input + spent.output,
    };
    return [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
      ...output.flatMap(streamed),
      { type: 'response.completed', response: { ...response, status: 'completed', output, usage } },
    ]
      .map(({ type, ...rest }, sequence_number) => ({ type, sequence_number, ...rest }))
      .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join('');
  },
  refusal: ({ type, message }) => JSON.stringify({ error: { message, type, param: null, code: null } }),
};

function inputOf(slug: string, line: DemoLine): object[] {
  if (line.kind === 'asks')
    return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: line.text }] }];
  return [
    ...itemsOf(slug, line),
    ...line.uses.map(({ result }, i) => ({
      type: 'function_call_output',
      call_id: toolCallId('call', slug, line.n, i),
      output: result,
    })),
  ];
}

function itemsOf(slug: string, { thinking, text, uses, n }: NumberedAnswer): Item[] {
  const id = (prefix: string, i = 0) => toolCallId(prefix, slug, n, i);
  return [
    ...(thinking
      ? [
          {
            type: 'reasoning',
            id: id('rs'),
            summary: [{ type: 'summary_text', text: thinking }],
            encrypted_content: Buffer.from(`demo ${slug} ${n}`).toString('base64'),
          },
        ]
      : []),
    ...(text
      ? [
          {
            type: 'message',
            id: id('msg'),
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text, annotations: [] }],
          },
        ]
      : []),
    ...uses.map(({ tool, input }, i) => ({
      type: 'function_call',
      id: id('fc', i),
      status: 'completed',
      name: tool,
      arguments: JSON.stringify(input),
      call_id: id('call', i),
    })),
  ];
}

type Event = { type: string } & Record<string, unknown>;

function streamed(item: Item, output_index: number): Event[] {
  const at = { item_id: item.id, output_index };
  return [
    { type: 'response.output_item.added', output_index, item: emptied(item) },
    ...growing(item).map((event) => ({ ...at, ...event })),
    { type: 'response.output_item.done', output_index, item },
  ];
}

function emptied(item: Item): Item {
  if (item.type === 'function_call') return { ...item, status: 'in_progress', arguments: '' };
  return item.type === 'message'
    ? { ...item, status: 'in_progress', content: [] }
    : { type: item.type, id: item.id, summary: [] };
}

function growing(item: Item): Event[] {
  if (item.type === 'function_call') {
    const json = String(item.arguments);
    return [
      ...pieces(json).map((delta) => ({ type: 'response.function_call_arguments.delta', delta })),
      { type: 'response.function_call_arguments.done', arguments: json },
    ];
  }
  const [part] = (item.type === 'message' ? item.content : item.summary) as [{ text: string }];
  const [name, at] =
    item.type === 'message'
      ? (['response.output_text', { content_index: 0 }] as const)
      : (['response.reasoning_summary_text', { summary_index: 0 }] as const);
  const added = item.type === 'message' ? 'response.content_part' : 'response.reasoning_summary_part';
  return [
    { type: `${added}.added`, ...at, part: { ...part, text: '' } },
    ...pieces(part.text).map((delta) => ({ type: `${name}.delta`, ...at, delta })),
    { type: `${name}.done`, ...at, text: part.text },
    { type: `${added}.done`, ...at, part },
  ];
}
