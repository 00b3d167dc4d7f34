/** Answers as clients send them back: less than they got, in some formats; the rest must not change the answer's hash. */
import type { Message } from '../model/bucket.ts';
import type { WireFormat } from './format.ts';

/** A message as its clients repeat it: the answer and its repetition in the history are then one node. */
export const echoed = (
  { echoesThinking, echoesToolIds }: Pick<WireFormat, 'echoesThinking' | 'echoesToolIds'>,
  { role, content }: Message,
): Message => ({
  role,
  content: content.flatMap((block) => {
    if (block.type === 'thinking' && !echoesThinking) return [];
    const { tool_use_id: _, ...unnumbered } = block;
    return block.type === 'tool_use' && !echoesToolIds ? [unnumbered] : [block];
  }),
});
