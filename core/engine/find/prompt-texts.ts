/** The system prompts and definitions of tools in the calls of a session, each distinct one once: at the first call that holds it. */
import { idsIn } from '../../capture/recipe.ts';
import type { Database } from '../../db/database.ts';
import type { PromptCall } from '../../db/read/prompt-calls.ts';
import { textsIn } from '../../find/span-texts.ts';
import { isObject } from '../../parse-json.ts';
import type { PromptBlock } from '../../prompt/prompt.ts';
import { requestPrompt } from '../../prompt/request-prompt.ts';
import { formatNamed } from '../../provider/formats.ts';
import { storedPieces } from '../prompt/stored-pieces.ts';
import { BadSlice, openCheckedSlices } from '../verify/checked-slices.ts';

/** `block`: its number in the context of the call. `offset`: of the text within the block's, as of those of a tool's input. */
export type PromptText = { block: number; offset: number; text: string };

/** Reads calls of one session in any order. A call of which bytes are missing has no texts. */
export function openPromptTexts(execute: Database['execute']): (call: PromptCall) => Promise<PromptText[]> {
  const stored = storedPieces(execute);
  const seenSlices = new Set<string>();
  const seenBlocks = new Set<string>();

  /** The pieces of the request that no call before it had. */
  const freshPieces = async ({ request_pages, request_page_depth }: PromptCall): Promise<Uint8Array[]> => {
    const slices = openCheckedSlices({ execute }); // of this call alone: what it has read is not read again
    let fresh = idsIn(request_pages).filter((id) => !seenSlices.has(id));
    const listed: string[] = [];
    for (let level = request_page_depth; level > 0; level -= 1) {
      listed.push(...fresh);
      fresh = (await slices(fresh)).flatMap(idsIn).filter((id) => !seenSlices.has(id));
    }
    const bytes = await slices(fresh);
    for (const id of [...listed, ...fresh]) seenSlices.add(id);
    return bytes;
  };

  const textsOf = ({ id, text, json }: PromptBlock, block: number): PromptText[] => {
    if (seenBlocks.has(id)) return [];
    seenBlocks.add(id);
    const own = text();
    let offset = 0;
    return (own === null ? textsIn(json(), ['type', 'cache_control']) : [own]).map((part) => {
      const placed = { block, offset, text: part };
      offset += part.length + 1;
      return placed;
    });
  };

  return async (call) => {
    try {
      if ((await freshPieces(call)).every(isMessage)) return [];
    } catch (error) {
      if (error instanceof BadSlice) return [];
      throw error;
    }
    const format = formatNamed(call.format);
    const request = format && (await stored.requestOf(call));
    if (!format || !request) return [];
    const continues = format.prompt.holds && (call.continues_call_id !== '' || call.names_previous);
    const prompt = requestPrompt({ format, ...request, url: call.url, continues });
    // Where the provider held messages, none of the request's own is part of the system prompt.
    const blocks = prompt ? [...prompt.fixed, ...(continues ? [] : prompt.messages)] : [];
    return blocks.flatMap((block, n) => (block.section === 'messages' ? [] : textsOf(block, n)));
  };
}

/** Whether a piece of a request is a message for certain: most are, and need not be read further. */
function isMessage(piece: Uint8Array): boolean {
  const text = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    .toString('utf8')
    .replace(/^[\s,]+/, '');
  if (!text.startsWith('{')) return false;
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return false;
    if (typeof value.role === 'string') return !['system', 'developer'].includes(value.role);
    return typeof value.call_id === 'string' || typeof value.encrypted_content === 'string';
  } catch {
    return false;
  }
}
