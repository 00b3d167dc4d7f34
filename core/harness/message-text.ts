/** The text of blocks and messages, and the probe, which every harness makes alike. */
import type { Message } from '../model/bucket.ts';
import type { ContentBlock } from '../model/content-block.ts';
import type { CallTraits } from './harness.ts';

/** All text of some blocks, a line for each block. */
export const textOf = (content: readonly ContentBlock[]): string =>
  content.flatMap(({ type, text }) => (type === 'text' && text ? [text] : [])).join('\n');

/** The text of a message, without white space around it; '' for none. */
export const wordsOf = (message: Message | null): string => (message ? textOf(message.content).trim() : '');

/** The text of a tool's result. */
export const resultText = ({ tool_output, text }: ContentBlock): string => tool_output ?? text ?? '';

/** Whether a call only tests that the provider answers: it requests next to nothing. */
export const isProbe = ({ max_tokens, tool_count }: CallTraits): boolean => max_tokens === 1 && tool_count === 0;
