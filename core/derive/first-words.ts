/** The first words of a thread's first prompt, by which it is recognised: in one form, wherever the prompt is recorded. */
import { createHash } from 'node:crypto';
import type { ContentBlock } from '../model/content-block.ts';
import { promptText } from './prompt.ts';
import { storable } from './storable.ts';

const LONGEST = 500;

/** The prompt without a harness's wrappers, on one line, cut: the keys of `TranscriptEvidence.prompts`. '' when nothing is left. */
export const firstWords = (content: string | readonly ContentBlock[]): string =>
  storable(promptText(typeof content === 'string' ? [{ type: 'text', text: content }] : content))
    .replace(/\s+/g, ' ')
    .slice(0, LONGEST)
    .trim();

/** A hash of the first words, short enough for the state; '' stays ''. */
export const wordsKey = (words: string): string =>
  words === '' ? '' : createHash('sha256').update(words).digest('hex').slice(0, 16);
