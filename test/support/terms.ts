/** The terms in a usage object, as a format reads them out of an answer that has nothing else to say of its bill. */
import type { Reply } from '../../core/model/reply.ts';
import type { Terms } from '../../core/model/terms.ts';
import { anthropicMessages } from '../../core/provider/anthropic-messages.ts';
import { openaiChat } from '../../core/provider/openai-chat.ts';

const answer: Omit<Reply, 'usage_verbatim'> = {
  ...{ content: [], model: '', response_id: '', stop_reason: '', usage: null, complete: true, error: null },
};

export const anthropicTerms = (usage_verbatim: unknown, model = ''): Terms =>
  anthropicMessages.terms({ ...answer, usage_verbatim, model });

export const openaiTerms = (usage_verbatim: unknown, service_tier = '', content: Reply['content'] = []): Terms =>
  openaiChat.terms({ ...answer, usage_verbatim, service_tier, content });
