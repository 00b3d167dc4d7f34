/** The texts of a span in which something can be found, with where each stands. */
import { resultText } from '../harness/message-text.ts';
import type { ContentBlock } from '../model/content-block.ts';
import type { FindPlace } from '../model/find.ts';
import { toolCallIn } from '../model/tool-call.ts';
import { isObject } from '../parse-json.ts';

/** `offset`: of the text within its block, where the block holds several: as if they were joined by line feeds. */
export type PlacedText = {
  place: FindPlace;
  side: 'input' | 'output' | 'error' | 'prompt';
  block: number;
  offset: number;
  text: string;
};

export type FoundSpan = {
  kind: string;
  input: readonly ContentBlock[];
  output: readonly ContentBlock[];
  error_message: string;
};

/** The calls of tools within an answer are left out: each has a span of its own. */
export function spanTexts({ kind, input, output, error_message }: FoundSpan): PlacedText[] {
  const place: FindPlace = kind === 'tool' ? 'tools' : 'conversation';
  const sideTexts = (side: 'input' | 'output', blocks: readonly ContentBlock[]) =>
    blocks.flatMap((block, index) =>
      kind !== 'tool' && toolCallIn(block) !== null
        ? []
        : placed(blockTexts(block), { place: block.thinking === undefined ? place : 'thinking', side, block: index }),
    );
  return [
    ...sideTexts('input', input),
    ...sideTexts('output', output),
    ...placed([error_message], { place, side: 'error', block: 0 }),
  ];
}

function placed(texts: readonly string[], where: Omit<PlacedText, 'offset' | 'text'>): PlacedText[] {
  let offset = 0;
  return texts.flatMap((text) => {
    const here = offset;
    offset += text.length + 1;
    return text === '' ? [] : { ...where, offset: here, text };
  });
}

/** What a person reads in a block: of JSON all its texts, in their order. The bytes of images are no text. */
export function blockTexts(block: ContentBlock): string[] {
  if (block.thinking !== undefined) return [block.thinking];
  if (block.tool_input !== undefined) return textsIn(block.tool_input);
  const text = resultText(block);
  return text !== '' ? [text] : textsIn(block.content, ['type']);
}

/** Without recursion, since what a model sent may be nested to any depth. @param except members that are no text */
export function textsIn(value: unknown, except: readonly string[] = []): string[] {
  const texts: string[] = [];
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next === 'string') {
      if (!isImageData(next)) texts.push(next);
    } else if (Array.isArray(next)) for (let i = next.length - 1; i >= 0; i -= 1) rest.push(next[i]);
    else if (isObject(next))
      for (const [name, member] of Object.entries(next).reverse()) if (!except.includes(name)) rest.push(member);
  }
  return texts;
}

const isImageData = (text: string): boolean =>
  text.length > 1_000 && /^(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/=\s]+$/.test(text);
