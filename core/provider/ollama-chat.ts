/** The wire format of Ollama's chat: `POST …/api/chat`, streamed and in one piece. */
import type { Message } from '../model/bucket.ts';
import { ordinaryTerms } from '../model/terms.ts';
import { Unreadable, type WireFormat } from './format.ts';
import { assertShallow, isFields, text } from './json.ts';
import { ollamaAnswer } from './ollama-answer.ts';
import { contentOf, toolResult } from './ollama-message.ts';
import { ollamaChatPrompt } from './ollama-prompt.ts';
import { ollamaHead } from './ollama-request.ts';

export const ollamaChat: WireFormat<'ollama.chat'> = {
  id: 'ollama.chat',
  provider: 'ollama',
  usualPath: '/api/chat',
  overWebSocket: false,
  echoesThinking: false,
  echoesToolIds: false,
  prompt: ollamaChatPrompt,
  messagesKey: 'messages',
  systemKey: null,
  toolsKey: 'tools',
  joinsAnswer: false,
  // without messages a model is loaded, or unloaded with `keep_alive: 0`
  isNoOp: ({ messages }, counts) => counts.messages === 0 && Array.isArray(messages ?? []),
  matches: (method, path) => method.toUpperCase() === 'POST' && /(?:^|\/)api\/chat\/*$/.test(path),
  requestHead(skeleton, counts) {
    if (!Array.isArray(skeleton.messages)) throw new Unreadable('Cannot read a chat request: it has no messages');
    return ollamaHead(skeleton, counts);
  },
  systemPrompts: () => [],
  messagesOutside: () => [],
  message,
  reply: (body, contentType) => ollamaAnswer(body, contentType, ({ message }) => (isFields(message) ? message : null)),
  stopReasons: { ended: ['stop'], cut: ['length'], tools: [] },
  callKey: () => null, // it gives no ids
  terms: () => ordinaryTerms,
};

const roles: Record<string, Message['role']> = { system: 'system', user: 'user', assistant: 'assistant', tool: 'tool' };

function message(element: unknown): Message {
  if (!isFields(element)) throw new Unreadable('Cannot read a chat message: it is no object');
  const roleName = text(element.role).toLowerCase(); // as Ollama reads it
  const role = Object.hasOwn(roles, roleName) ? roles[roleName] : undefined;
  if (role === undefined) throw new Unreadable('Cannot read a chat message: its role is unknown');
  if (typeof (element.content ?? '') !== 'string') {
    throw new Unreadable('Cannot read a chat message: its content is no text');
  }
  assertShallow(element, 'a chat message');
  return { role, content: role === 'tool' ? [toolResult(element)] : contentOf(element) };
}
