/** pi: it calls through its provider's own library, so that only its system prompt identifies it. */
import type { Harness } from './harness.ts';
import { lineAfter } from './surroundings.ts';

export const pi: Harness = {
  id: 'pi',
  signs: () => null,
  threadOf: () => '',
  injectedKind: () => '',
  wrappers: [],
  speaks: () => false,
  callKind: () => null,
  judgedAction: () => '',
  verdict: () => null,
  spawn: () => null,
  spawned: () => [],
  thread: () => ({ path: '', label: '' }),
  surroundings: ({ system }) => {
    const prompt = system();
    if (!prompt.startsWith('You are an expert coding assistant operating inside pi')) return null;
    return { cwd: lineAfter(prompt, 'Current working directory: '), git_branch: '', agent_name: 'pi' };
  },
  tasksAfter: () => null,
  titleIn: () => '',
  readTranscript: null,
};
