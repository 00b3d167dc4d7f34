/** Answers as clients send them back: less than they got, or in other pieces, in some formats; neither may change the answer's hash. */
import type { Message } from '../model/bucket.ts';
import type { ContentBlock } from '../model/content-block.ts';
import type { WireFormat } from './format.ts';

/** A message as its clients repeat it: the answer and its repetition in the history are then one node. */
export function echoed(
  { echoesThinking, echoesToolIds, splitsTexts }: Pick<WireFormat, 'echoesThinking' | 'echoesToolIds' | 'splitsTexts'>,
  { role, content }: Message,
): Message {
  const sent = content.flatMap((block) => {
    if (block.type === 'thinking' && !echoesThinking) return [];
    const { tool_use_id: _, ...unnumbered } = block;
    return block.type === 'tool_use' && !echoesToolIds ? [unnumbered] : [block];
  });
  return { role, content: splitsTexts && role === 'assistant' ? wholeTexts(sent) : sent };
}

/** Adjacent texts become one, exactly as they were cut. */
function wholeTexts(content: readonly ContentBlock[]): ContentBlock[] {
  const whole: ContentBlock[] = [];
  let texts: string[] = [];
  const flush = () => {
    if (texts.length > 0) whole.push({ type: 'text', text: texts.join('') });
    texts = [];
  };
  for (const block of content) {
    if (block.type === 'text') texts.push(block.text ?? '');
    else {
      flush();
      whole.push(block);
    }
  }
  flush();
  return whole;
}
