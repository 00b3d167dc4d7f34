/** Gemini CLI: it names no session; its first message says what it is and where it runs. */

import { readGeminiTranscript } from './gemini-transcript.ts';
import type { Harness } from './harness.ts';
import { wordsOf } from './message-text.ts';
import { plainHarness } from './plain-harness.ts';
import { between } from './surroundings.ts';

export const geminiCli: Harness = {
  ...plainHarness,
  readTranscript: readGeminiTranscript,
  id: 'gemini-cli',
  start: { name: 'Gemini CLI', line: (proxy) => `GOOGLE_GEMINI_BASE_URL=${proxy}/gemini gemini` },
  wrappers: ['session_context'],
  surroundings: ({ first }) => {
    const words = wordsOf(first());
    if (!words.startsWith('<session_context>\nThis is the Gemini CLI.')) return null;
    return {
      cwd: between(words, '- **Workspace Directories:**\n  - ', '\n'),
      git_branch: '',
      agent_name: 'gemini-cli',
    };
  },
};
