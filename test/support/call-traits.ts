/** Builds calls in the form in which harnesses get them (`CallTraits`). */
import type { CallTraits } from '../../core/harness/harness.ts';
import type { Message, MessageRole } from '../../core/model/bucket.ts';
import type { ContentBlock } from '../../core/model/content-block.ts';

type CallLike = Partial<Pick<CallTraits, 'harness_id' | 'stream' | 'max_tokens' | 'tool_count'>> & {
  system?: string;
  messages?: Message[];
  answers?: string | ContentBlock[] | null; // null: there is no answer
};

/** A call of the conversation of Claude Code, with the given members replaced. */
export const callTraits = ({
  system = 'You are an agent',
  messages = [],
  answers = 'Done',
  ...call
}: CallLike): CallTraits => ({
  harness_id: 'claude',
  stream: true,
  max_tokens: 32_000,
  tool_count: 24,
  ...call,
  system: () => system,
  first: () => messages[0] ?? null,
  last: (back = 0) => messages[messages.length - 1 - back] ?? null,
  reply:
    answers === null
      ? null
      : {
          content: typeof answers === 'string' ? [{ type: 'text', text: answers }] : answers,
          model: 'm',
          response_id: '',
          stop_reason: 'end_turn',
          usage: null,
          usage_verbatim: null,
          complete: true,
          error: null,
        },
});

export const message = (role: MessageRole, ...texts: string[]): Message => ({
  role,
  content: texts.map((text) => ({ type: 'text', text })),
});
