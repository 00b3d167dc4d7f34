/** Answers and usage that Codex recorded, put together as the document that the provider would have sent. */
import type { Reply } from '../model/reply.ts';
import { assertShallow, type Fields, fields } from '../provider/json.ts';
import { openaiResponses } from '../provider/openai-responses.ts';

export type CodexUsage = { response_id: string; usage: Fields | null };

/** @throws {Unreadable} */
export function codexReply(items: readonly Fields[], model: string, used: CodexUsage | null): Reply {
  assertShallow(items, 'an answer in a transcript');
  const response = { object: 'response', status: 'completed', id: used?.response_id ?? '', model, output: items };
  const reply = openaiResponses.reply(Buffer.from(JSON.stringify(response)), 'application/json');
  return used?.usage ? withUsage(reply, used.usage) : reply;
}

/** Codex has names of its own for the members of the provider's usage object. */
export function withUsage(reply: Reply, codexUsage: Fields): Reply {
  const { input_tokens, output_tokens, cached_input_tokens, cache_write_input_tokens, reasoning_output_tokens } =
    codexUsage;
  const usage = {
    input_tokens,
    output_tokens,
    input_tokens_details: { cached_tokens: cached_input_tokens, cache_write_tokens: cache_write_input_tokens },
    output_tokens_details: { reasoning_tokens: reasoning_output_tokens },
  };
  const bill = Buffer.from(JSON.stringify({ object: 'response', status: 'completed', output: [], usage }, shallow));
  return {
    ...reply,
    usage: openaiResponses.reply(bill, 'application/json').usage,
    usage_verbatim: numbersOf(codexUsage),
  };
}

/** Counts are numbers: anything else in their place is left out. */
const shallow = (key: string, value: unknown) =>
  key.endsWith('_tokens') && typeof value !== 'number' ? undefined : value;

const numbersOf = (usage: Fields): Fields =>
  Object.fromEntries(Object.entries(usage).filter(([, value]) => typeof value === 'number'));

/** Whether two running totals are the same: then nothing was billed between them. */
export const sameTotal = (one: Fields | null, other: Fields): boolean =>
  one !== null && ['input_tokens', 'output_tokens', 'total_tokens'].every((key) => fields(one)[key] === other[key]);
