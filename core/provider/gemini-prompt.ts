/** The prompt in a request of Gemini: tools, system instruction, contents. Members come in camel case and in snake case. */
import { type Fields, fields, isFields, text } from './json.ts';
import { blockPart, kindOfRole, textIn, wholeText } from './prompt-parts.ts';
import type { BlockPart, PictureSize, PromptShape } from './prompt-shape.ts';

const spellings = (camel: string): string[] => [camel, camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];

/** The spelling in which a member is there. */
const keyIn = (from: Fields, camel: string): string | undefined =>
  spellings(camel).find((key) => from[key] !== undefined);

const valueIn = (from: Fields, camel: string): unknown => from[keyIn(from, camel) ?? camel];

const inBoth = (...paths: string[]): string[] => paths.flatMap((path) => [...new Set(spellings(path))]);

export const geminiPrompt: PromptShape = {
  members: [
    { key: 'tools', section: 'tools', parts: toolParts },
    ...spellings('systemInstruction').map((key) => ({ key, section: 'system' as const, parts: systemParts })),
    { key: 'contents', section: 'messages', parts: contentParts },
  ],
  parameters: {
    keyed: ['model', ...inBoth('cachedContent', 'toolConfig')],
    others: [
      ...[
        'thinkingConfig',
        'maxOutputTokens',
        'temperature',
        'topP',
        'topK',
        'responseMimeType',
        'responseSchema',
      ].flatMap((name) =>
        spellings('generationConfig').flatMap((key) => spellings(name).map((inner) => `${key}.${inner}`)),
      ),
      ...inBoth('safetySettings'),
    ],
  },
  keyedHeaders: [],
  textPart: (words) => ({ text: words }),
  marks: [],
  holds: null,
  pictureTokens,
};

/** https://ai.google.dev/gemini-api/docs/image-understanding: 258, if both sides have at most 384 pixels, else 258 for each tile of 768 by 768. */
function pictureTokens({ width, height }: PictureSize): number {
  if (width <= 384 && height <= 384) return 258;
  return 258 * Math.ceil(width / 768) * Math.ceil(height / 768);
}

/** The parts with the way to each: the API takes a single one in place of their list. null: there are none. */
function partsIn({ parts }: Fields): { part: unknown; at: BlockPart['at'] }[] | null {
  if (isFields(parts)) return [{ part: parts, at: ['parts'] }];
  return Array.isArray(parts) ? parts.map((part, i) => ({ part, at: ['parts', i] })) : null;
}

/** An element may declare any number of functions. */
function toolParts(raw: unknown): BlockPart[] {
  const tool = fields(raw);
  const key = keyIn(tool, 'functionDeclarations');
  const declared = key === undefined ? null : tool[key];
  const declaration = (one: unknown, at: BlockPart['at']) => {
    const { name, description } = fields(one);
    return blockPart(at, '', 'tool-definition', { name: text(name), text: text(description) || null });
  };
  if (key !== undefined && isFields(declared)) return [declaration(declared, [key])];
  if (key === undefined || !Array.isArray(declared))
    return [blockPart([], '', 'tool-definition', { name: Object.keys(tool)[0] ?? '' })];
  return declared.map((one, i) => declaration(one, [key, i]));
}

function systemParts(raw: unknown): BlockPart[] {
  const parts = partsIn(fields(raw));
  if (!parts) return wholeText(raw, 'system', 'instructions');
  return parts.map(({ part, at }) => blockPart(at, 'system', 'instructions', { text: textIn(part) }));
}

function contentParts(raw: unknown): BlockPart[] {
  const content = fields(raw);
  const role = text(content.role);
  const parts = partsIn(content);
  if (!parts) return wholeText(raw, role, 'other');
  return parts.map(({ part, at }) => contentPart(fields(part), role, at));
}

function contentPart(part: Fields, role: string, at: BlockPart['at']): BlockPart {
  if (typeof part.text === 'string') {
    return blockPart(at, role, part.thought === true ? 'thinking' : kindOfRole(role), { text: part.text });
  }
  const call = valueIn(part, 'functionCall') ?? valueIn(part, 'executableCode');
  if (isFields(call))
    return blockPart(at, role, 'tool-call', {
      name: text(call.name) || 'code_execution',
      call_id: text(call.id),
    });
  const result = valueIn(part, 'functionResponse') ?? valueIn(part, 'codeExecutionResult');
  if (isFields(result)) {
    const output = fields(result.response).output ?? result.output;
    const files = (partsIn(result) ?? []).map(({ part }) => part);
    return blockPart(at, role, 'tool-result', {
      name: typeof output === 'string' ? '' : text(result.name),
      text: typeof output === 'string' ? output : null,
      call_id: text(result.id),
      pictures: files.flatMap((file) => pictureIn(fields(file)) ?? []),
    });
  }
  const picture = pictureIn(part);
  if (picture !== null) return blockPart(at, role, 'image', { name: 'image', pictures: [picture] });
  return blockPart(at, role, 'other', { name: Object.keys(part)[0] ?? '' });
}

/** null: the part is no picture. */
function pictureIn(part: Fields): string | null {
  const inline = fields(valueIn(part, 'inlineData'));
  const file = fields(valueIn(part, 'fileData'));
  const isPicture = [inline, file].some((data) => text(valueIn(data, 'mimeType')).startsWith('image/'));
  return isPicture ? text(inline.data) : null;
}
