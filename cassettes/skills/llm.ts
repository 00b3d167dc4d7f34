/** Requests to the model, by OpenAI's client to any address with the same API, repeated until a response can be parsed. */
import type { z } from 'zod';
import type { SkillsConfig } from './manifest.ts';
import type { PromptMessage } from './prompt.ts';
import { SkillRefusal } from './refused.ts';

/** The key for the configured address: Anthropic gets its own key where there is one. '' where none is configured. */
export function keyFor(config: SkillsConfig): string {
  const { 'llm.base_url': address, 'llm.api_key': key = '', 'anthropic.api_key': anthropic = '' } = config;
  const isAnthropic = URL.canParse(address) && /(?:^|\.)anthropic\.com$/.test(new URL(address).hostname);
  return (isAnthropic && anthropic !== '' ? anthropic : key).trim();
}

const ATTEMPTS = 3;

/**
 * The JSON of the model's response. When a response cannot be parsed, the model gets the reason and is requested again.
 * @param apiKey of the caller's configuration
 * @throws {SkillRefusal} generation-failed
 */
export async function requestCompletion<Answer>(
  config: SkillsConfig,
  apiKey: string,
  messages: readonly PromptMessage[],
  shape: z.ZodType<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  const { OpenAI } = await import('openai'); // rarely needed, so not loaded at the start
  const conversation = [...messages];
  for (let attempt = 1; ; attempt++) {
    const text = await answerTo(conversation);
    const result = parsed(text, shape);
    if ('answer' in result) return result.answer;
    if (attempt === ATTEMPTS)
      throw new SkillRefusal('generation-failed', `Cannot generate the skill: no answer of the model could be read`);
    conversation.push(
      { role: 'assistant', content: text },
      {
        role: 'user',
        content: `That is not the JSON object that was asked for: ${result.problem}. Send the object alone`,
      },
    );
  }

  async function answerTo(history: PromptMessage[]): Promise<string> {
    try {
      const client = new OpenAI({
        ...{ apiKey, baseURL: config['llm.base_url'], timeout: config['llm.timeout'], maxRetries: 1, logLevel: 'off' },
        ...{ organization: null, project: null },
      });
      const answer = await client.chat.completions.create(
        { model: config['llm.model'], messages: history, response_format: { type: 'json_object' } },
        { signal },
      );
      return answer.choices?.[0]?.message?.content ?? '';
    } catch (error) {
      const { status } = error as { status?: number };
      const why = status === undefined ? 'could not be asked' : `answered ${status}`;
      throw new SkillRefusal('generation-failed', `Cannot generate the skill: the model ${why}`, { cause: error });
    }
  }
}

function parsed<Answer>(text: string, shape: z.ZodType<Answer>): { answer: Answer } | { problem: string } {
  const begin = text.indexOf('{');
  const end = text.lastIndexOf('}');
  let json: unknown;
  try {
    json = JSON.parse(text.slice(begin, end + 1)); // some models put it in a fence, or write text before it
  } catch {
    return { problem: 'it is no JSON' };
  }
  const read = shape.safeParse(json);
  if (read.success) return { answer: read.data };
  const [issue] = read.error.issues;
  return { problem: `"${issue?.path.join('.')}" ${issue?.message}` };
}
