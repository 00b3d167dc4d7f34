/** What does an agent send? The requests of a made-up one, with their answers. */

const PROMPT_EVERY = 20; // calls; the others bring the result of a tool

export type AgentCall = { session: string; request: Uint8Array<ArrayBuffer>; response: string };

/** The calls of one session in turn: 2 KB more with each, behind as much as an agent says of itself and of its tools. */
export function agent(session: string, head = 0): () => AgentCall {
  let history = '';
  let n = 0;
  const system = JSON.stringify(words(head, 1));
  const addMessage = (message: object) => {
    history += `${history === '' ? '' : ','}${JSON.stringify(message)}`;
  };
  addMessage({ role: 'user', content: `The task of ${session}: ${words(1_000, 7)}` });
  return () => {
    n++;
    const request = `{"model":"claude-sonnet-4-5","max_tokens":32000,"system":${system},"messages":[${history}]}`;
    const ends = n % PROMPT_EVERY === 0;
    const use = { type: 'tool_use', id: `toolu_${session}_${n}`, name: 'Bash', input: { command: `make ${n}` } };
    const content = [{ type: 'text', text: words(600, n) }, ...(ends ? [] : [use])];
    const response = JSON.stringify({
      ...{ id: `msg_${session}_${n}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content },
      stop_reason: ends ? 'end_turn' : 'tool_use',
      usage: { input_tokens: 10, cache_read_input_tokens: 500 * n, output_tokens: 150 },
    });
    addMessage({ role: 'assistant', content });
    const result = { type: 'tool_result', tool_use_id: use.id, content: words(1_200, n) };
    addMessage({ role: 'user', content: ends ? `And now ${n}: ${words(500, n)}` : [result] });
    return { session, request: Buffer.from(request), response };
  };
}

const WORDS = 'the a file test build of and in returns error value when then type module import state reads row'.split(
  ' ',
);

/** Words in an order that `seed` decides. */
function words(length: number, seed: number): string {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += `${WORDS[(state >>> 8) % WORDS.length]} `;
  }
  return text;
}
