/** pi: it calls through its provider's own library, so that only its system prompt identifies it. */
import type { Harness } from './harness.ts';
import { readPiTranscript } from './pi-transcript.ts';
import { plainHarness } from './plain-harness.ts';
import { lineAfter } from './surroundings.ts';

export const pi: Harness = {
  ...plainHarness,
  id: 'pi',
  readTranscript: readPiTranscript,
  surroundings: ({ system }) => {
    const prompt = system();
    if (!prompt.startsWith('You are an expert coding assistant operating inside pi')) return null;
    return { cwd: lineAfter(prompt, 'Current working directory: '), git_branch: '', agent_name: 'pi' };
  },
};
