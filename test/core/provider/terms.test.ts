import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openaiResponses } from '../../../core/provider/openai-responses.ts';
import { anthropicTerms, openaiTerms } from '../../support/terms.ts';

const test = suite('terms');

const silent = {
  service_tier: '',
  speed: '',
  inference_geo: '',
  web_searches: 0,
  preview_searches: 0,
  file_searches: 0,
  unlisted_fees: false,
  audio_tokens: 0,
  other_models: false,
};

test('what an Anthropic answer tells of its bill', () => {
  const usage = {
    input_tokens: 2,
    output_tokens: 9,
    server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 },
    service_tier: 'priority',
    inference_geo: 'us',
    iterations: [{ type: 'message', input_tokens: 2, output_tokens: 9 }, { type: 'compaction' }],
    speed: 'fast',
  };
  assert.equal(anthropicTerms(usage), {
    ...silent,
    service_tier: 'priority',
    speed: 'fast',
    inference_geo: 'us',
    web_searches: 2,
  });
});
test('a step of another model shows', () => {
  const steps = [{ type: 'message' }, { type: 'advisor_message', model: 'claude-opus-4-8', input_tokens: 8 }];
  assert.is(anthropicTerms({ iterations: steps }).other_models, true);
});
test('of a fallback only what the answering model used is billed, unless another one wrote something or had cached the prompt', () => {
  const counts = (input_tokens: number, output_tokens: number, read = 0, written = 0) => ({
    ...{ input_tokens, output_tokens, cache_read_input_tokens: read, cache_creation_input_tokens: written },
  });
  const answer = { type: 'fallback_message', model: 'claude-opus-4-8', ...counts(412, 264, 0, 900) };
  const declined = { type: 'message', model: 'claude-fable-5', ...counts(408, 0) };
  const has = (...iterations: object[]) =>
    anthropicTerms({ ...counts(412, 264, 0, 900), iterations }, 'claude-opus-4-8').other_models;
  assert.is(has(declined, answer), false); // https://platform.claude.com/cookbook/fable-5-fallback-billing-guide
  assert.is(has(answer), false, 'a later turn goes to the fallback model directly');
  const search = { type: 'message', model: 'claude-opus-4-8', ...counts(12, 64) };
  assert.is(
    has(declined, search, { ...answer, ...counts(400, 200, 0, 900) }),
    false,
    'with a search before the answer',
  );
  for (const other of [
    { ...declined, output_tokens: 3 },
    { ...declined, cache_read_input_tokens: 8 },
    { ...declined, cache_creation_input_tokens: 8 },
    { ...declined, model: null },
    { type: 'compaction', ...counts(9, 9) },
    { type: 'advisor_message', model: 'claude-fable-5', ...counts(9, 0) },
    search, // which the counts of the call leave out
  ])
    assert.is(has(other, answer), true, JSON.stringify(other));
  assert.is(has(declined, { ...answer, model: 'claude-opus-5' }), true, 'the answer names another model');
});
test('a retry that redeemed the credit of a declined request is not billed by its counts', () => {
  const fees = (status: object) => anthropicTerms({ fallback_credit: { status } }).unlisted_fees;
  assert.equal([{ type: 'redeemed' }, { type: 'not_applied', reason: 'expired' }, {}].map(fees), [true, false, false]);
});
test('what an OpenAI answer tells of its bill, its tier beside the usage', () => {
  const usage = { prompt_tokens_details: { audio_tokens: 3 }, completion_tokens_details: { audio_tokens: 4 } };
  assert.equal(openaiTerms(usage, 'flex'), { ...silent, service_tier: 'flex', audio_tokens: 7 });
});
test('of what OpenAI runs on the web only the searches are billed apiece', () => {
  const block = (type?: string) => ({
    ...{ type: 'server_tool_use' as const, tool_use_id: 'ws', tool_name: 'web_search' },
    tool_input: type === undefined ? {} : { type },
  });
  const content = ['search', 'open_page', 'find_in_page', undefined].map(block);
  assert.is(openaiTerms({}, '', content).web_searches, 2);
});
test('searches by the preview of the tool are apart on models that do not reason, streamed or not', () => {
  const searched = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } };
  const termsOf = (model: string, type: string) => {
    const tools = [
      { type: 'function', name: 'f' },
      { type, search_context_size: 'medium' },
    ];
    const response = { object: 'response', status: 'completed', model, tools, output: [searched] };
    const bytes = (text: string) => new TextEncoder().encode(text);
    const whole = openaiResponses.reply(bytes(JSON.stringify(response)), 'application/json');
    const event = JSON.stringify({ type: 'response.completed', response });
    const stream = openaiResponses.reply(bytes(`event: response.completed\ndata: ${event}\n\n`), 'text/event-stream');
    assert.equal(openaiResponses.terms(stream), openaiResponses.terms(whole));
    const { web_searches, preview_searches } = openaiResponses.terms(whole);
    return [web_searches, preview_searches];
  };
  for (const model of ['gpt-4o-2024-08-06', 'gpt-4o-mini', 'gpt-4.1', 'ft:gpt-4.1-mini:org::1'])
    for (const type of ['web_search_preview', 'web_search_preview_2025_03_11'])
      assert.equal(termsOf(model, type), [1, 1], `${model} ${type}`);
  for (const model of ['gpt-5', 'o4-mini', 'o3-2025-04-16', ''])
    assert.equal(termsOf(model, 'web_search_preview'), [1, 0]);
  for (const type of ['web_search', 'web_search_2025_08_26']) assert.equal(termsOf('gpt-4o', type), [1, 0], type);
});
test('of the tools that OpenAI runs each is billed in its way, and a tool of an MCP server has no fee, whatever its name', () => {
  const termsOf = (...output: object[]) => {
    const document = { object: 'response', status: 'completed', output };
    const body = new TextEncoder().encode(JSON.stringify(document));
    return openaiResponses.terms(openaiResponses.reply(body, 'application/json'));
  };
  const files = { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['a', 'b'], results: null };
  assert.equal(termsOf(files, { ...files, id: 'fs_2' }), { ...silent, file_searches: 2 });
  for (const item of [
    { type: 'code_interpreter_call', id: 'ci_1', status: 'completed', code: '1', container_id: 'cntr_1', outputs: [] },
    { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA' },
    { type: 'shell_call', id: 'sh_1', call_id: 'c', action: {}, environment: { type: 'container_reference' } },
  ])
    assert.equal(termsOf(item), { ...silent, unlisted_fees: true }, item.type);
  const names = ['file_search', 'web_search', 'code_interpreter', 'shell', 'image_generation'];
  for (const item of [
    ...names.map((name) => ({ type: 'mcp_call', id: 'mcp_1', server_label: 's', name, arguments: '{}', output: '' })),
    { type: 'shell_call', id: 'sh_1', call_id: 'c', action: {}, environment: { type: 'local' } },
    { type: 'computer_call', id: 'cu_1', call_id: 'c', action: { type: 'screenshot' } },
    { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'code_interpreter', arguments: '{}' },
  ])
    assert.equal(termsOf(item), silent, JSON.stringify(item));
});
test('silence and nonsense are ordinary terms', () => {
  for (const reported of [null, undefined, 'usage', [], {}, { server_tool_use: 3, iterations: 'none', speed: null }]) {
    assert.equal(anthropicTerms(reported), silent);
    assert.equal(openaiTerms(reported), silent);
  }
});
test.run();
