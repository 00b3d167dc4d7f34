/** By which words is a thread told? The beginning of what it was first asked, in one form wherever it is told. */
import { createHash } from 'node:crypto';
import type { ContentBlock } from '../model/content-block.ts';
import { promptText } from './prompt.ts';
import { storable } from './storable.ts';

const LONGEST = 500;

/** Without what a harness wraps around it, on one line, cut: the keys of `Evidence.prompts`. '' when nothing is left. */
export const firstWords = (said: string | readonly ContentBlock[]): string =>
  storable(promptText(typeof said === 'string' ? [{ type: 'text', text: said }] : said))
    .replace(/\s+/g, ' ')
    .slice(0, LONGEST)
    .trim();

/** The same, short enough to be remembered; '' stays ''. */
export const wordsKey = (words: string): string =>
  words === '' ? '' : createHash('sha256').update(words).digest('hex').slice(0, 16);
