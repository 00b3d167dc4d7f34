/**
 * The wire format of Ollama's completion: `POST …/api/generate`, streamed and in one piece. Its prompt is the one message; `system`,
 * `template` and `context` (the tokens of earlier calls) are parameters.
 */
import type { Message } from '../model/bucket.ts';
import { ordinaryTerms } from '../model/terms.ts';
import { Unreadable, type WireFormat } from './format.ts';
import { assertShallow, type Fields, text } from './json.ts';
import { ollamaAnswer } from './ollama-answer.ts';
import { contentOf } from './ollama-message.ts';
import { ollamaGeneratePrompt } from './ollama-prompt.ts';
import { ollamaHead } from './ollama-request.ts';

export const ollamaGenerate: WireFormat<'ollama.generate'> = {
  id: 'ollama.generate',
  provider: 'ollama',
  usualPath: '/api/generate',
  overWebSocket: false,
  echoesThinking: false,
  echoesToolIds: false,
  prompt: ollamaGeneratePrompt,
  messagesKey: null,
  systemKey: null,
  toolsKey: 'tools',
  joinsAnswer: false,
  // without a prompt a model is loaded, or unloaded with `keep_alive: 0`
  isNoOp: ({ prompt, suffix, images }) =>
    [prompt, suffix].every((part) => (part ?? '') === '') && !(Array.isArray(images) && images.length > 0),
  matches: (method, path) => method.toUpperCase() === 'POST' && /(?:^|\/)api\/generate\/*$/.test(path),
  requestHead(skeleton, counts) {
    if (!isText(skeleton)) throw new Unreadable('Cannot read a completion request: its prompt is no text');
    return ollamaHead(skeleton, counts);
  },
  systemPrompts: ({ system }) => [system],
  messagesOutside,
  message() {
    throw new Unreadable('Cannot read a message of a completion: it has no list of them');
  },
  reply: (body, contentType) => ollamaAnswer(body, contentType, messageIn),
  stopReasons: { ended: ['stop'], cut: ['length'], tools: [] },
  callKey: () => null, // it gives no ids
  terms: () => ordinaryTerms,
};

const isText = ({ prompt, suffix }: Fields) => [prompt, suffix].every((part) => typeof (part ?? '') === 'string');

function messagesOutside({ prompt, images, suffix }: Fields): Message[] {
  assertShallow(images, 'a completion request');
  const content = [
    ...contentOf({ content: prompt, images }),
    ...(text(suffix) === '' ? [] : [{ type: 'suffix', text: text(suffix) }]),
  ];
  return content.length === 0 ? [] : [{ role: 'user', content }];
}

const messageIn = ({ response, thinking, tool_calls }: Fields): Fields | null =>
  typeof response === 'string' ? { content: response, thinking, tool_calls } : null;
