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
    if (attempt === ATTEMPTS) throw failed('no answer of the model could be read');
    conversation.push(
      { role: 'assistant', content: text },
      {
        role: 'user',
        content: `That is not the JSON object that was asked for: ${result.problem}. Send the object alone`,
      },
    );
  }

  async function answerTo(history: PromptMessage[]): Promise<string> {
    let answer: { choices?: { message?: { content?: string | null } }[] } | null;
    try {
      const client = new OpenAI({
        ...{ apiKey, baseURL: config['llm.base_url'], timeout: config['llm.timeout'], maxRetries: 1, logLevel: 'off' },
        ...{ organization: null, project: null },
      });
      answer = await client.chat.completions.create(
        { model: config['llm.model'], messages: history, response_format: { type: 'json_object' } },
        { signal },
      );
    } catch (error) {
      throw failed(whyNoAnswer(error), error);
    }
    if (!Array.isArray(answer?.choices)) throw failed(NO_COMPLETION);
    return answer.choices[0]?.message?.content ?? '';
  }

  /** By kind and code alone: messages of the client quote what was sent and received. */
  function whyNoAnswer(error: unknown): string {
    const { status } = error as { status?: number };
    if (status !== undefined) return `the model answered ${status}`;
    if (signal.aborted) return 'the model did not answer in time';
    if (error instanceof OpenAI.APIConnectionTimeoutError)
      return `the model did not answer within ${config['llm.timeout'] / 1000} s`;
    if (error instanceof OpenAI.APIConnectionError) return `the model could not be reached (${codeOf(error)})`;
    return error instanceof SyntaxError ? NO_COMPLETION : 'the answer of the model broke off';
  }
}

const NO_COMPLETION = 'the answer of the model is no completion';

const failed = (why: string, cause?: unknown) =>
  new SkillRefusal('generation-failed', `Cannot generate the skill: ${why}`, { cause });

/** The system's code of a failed connection, such as ECONNREFUSED: the client wraps the error that has it. */
function codeOf({ cause }: Error): string {
  if (!(cause instanceof Error)) return 'no code';
  const { code } = cause as { code?: unknown };
  return typeof code === 'string' ? code : codeOf(cause);
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
