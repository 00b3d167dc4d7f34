/** The prompt in a request that a test makes up, cut as intake cuts it. */
import { sliceId } from '../../core/capture/slice-codec.ts';
import { sliceBody } from '../../core/capture/slices.ts';
import type { HeaderList } from '../../core/model/headers.ts';
import type { Prompt } from '../../core/prompt/prompt.ts';
import { openPiece, requestPrompt } from '../../core/prompt/request-prompt.ts';
import { type FormatId, formatById } from '../../core/provider/formats.ts';

type Made = { headers?: HeaderList; url?: string; continues?: boolean };

/** null: it cannot be read. */
export function readPrompt(
  id: FormatId,
  request: unknown,
  { headers = [], url = '', continues = false }: Made = {},
): Prompt | null {
  const format = formatById(id);
  const body = typeof request === 'string' ? Buffer.from(request) : Buffer.from(JSON.stringify(request));
  const pieces = sliceBody(body).map(({ start, end }) => {
    const bytes = body.subarray(start, end);
    return openPiece(sliceId(bytes), bytes);
  });
  const own = requestPrompt({ format, pieces, headers, url, continues });
  return (
    own && {
      provider: format.provider,
      format: id,
      reach: 'whole',
      blocks: [...own.fixed, ...own.messages],
      parameters: own.parameters,
    }
  );
}

/** @throws {Error} when it cannot be read */
export function promptIn(id: FormatId, request: unknown, made: Made = {}): Prompt {
  const prompt = readPrompt(id, request, made);
  if (!prompt) throw new Error('Cannot read the prompt that a test made up');
  return prompt;
}
