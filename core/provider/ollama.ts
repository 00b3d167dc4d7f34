/** Ollama, the runner of models at home. */
import { anthropicMessages } from './anthropic-messages.ts';
import { ollamaChat } from './ollama-chat.ts';
import { ollamaGenerate } from './ollama-generate.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import { defineProvider } from './provider.ts';

export const ollama = defineProvider({
  id: 'ollama',
  formats: [ollamaChat, ollamaGenerate],
  alsoServes: [openaiChat, openaiResponses, anthropicMessages],
  formatOf: ({ messages }) => (messages !== undefined && messages !== null ? ollamaChat : ollamaGenerate),
  basePath: '',
  clients: (base) => [['Ollama client', `OLLAMA_HOST=${base}`]],
  libraries: [
    ['ollama-js', /^ollama-js\/([\w.+-]+)/],
    ['ollama-python', /^ollama-python\/([\w.+-]+)/],
  ],
  paths: /^\/api\/(?:chat|generate|embed|embeddings|tags|show|ps|pull|version)$/,
  noTurn: ['/(embed|embeddings)', '/api/(show|pull|push|create|copy|delete|tags|ps|version|blobs)(/.*)?'],
  key: null,
  keyHeader: null,
  ownHeader: null,
  errorBody: (_status, message) => JSON.stringify({ error: message }),
  // a model at home costs nothing that a list knows, and the list has no such provider
  pricing: { list: 'ollama', listed: (model) => model, cacheWrites: null },
  caching: () => null,
});
