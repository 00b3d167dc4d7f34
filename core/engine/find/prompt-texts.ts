/** The system prompts and definitions of tools in calls, of a session each distinct one once: at the first call that holds it. */
import { idsIn } from '../../capture/recipe.ts';
import type { Database } from '../../db/database.ts';
import type { PromptCall } from '../../db/read/prompt-calls.ts';
import { textsIn } from '../../find/span-texts.ts';
import { isObject } from '../../parse-json.ts';
import type { PromptBlock } from '../../prompt/prompt.ts';
import { requestPrompt } from '../../prompt/request-prompt.ts';
import { formatNamed } from '../../provider/formats.ts';
import { howContinued } from '../prompt/read-prompt.ts';
import { type StoredPieces, storedPieces } from '../prompt/stored-pieces.ts';
import { BadSlice, type CheckedSlices, openCheckedSlices } from '../verify/checked-slices.ts';
import { openYielder } from '../yielder.ts';

/** `block`: its number in the context of the call. `offset`: of the text within the block's, as of those of a tool's input. */
export type PromptText = { block: number; offset: number; text: string };

/** The slices and blocks that calls of a session have shown so far, by their ids. */
export type SeenInPrompts = { slices: Set<string>; blocks: Set<string> };

export const nothingSeen = (): SeenInPrompts => ({ slices: new Set(), blocks: new Set() });

/** `seen`: in earlier calls of its session; what this one shows is added. */
type CallToRead = { call: PromptCall; seen: SeenInPrompts };

/** @returns the texts of each call that no call before it had. A call of which bytes are missing has none */
export async function promptTexts(execute: Database['execute'], calls: readonly CallToRead[]): Promise<PromptText[][]> {
  const stored = storedPieces(execute);
  const holding = await withPrompts(execute, calls);
  await stored.prepare([...holding].map(({ call }) => call));
  const yieldThread = openYielder();
  const texts: PromptText[][] = [];
  for (const each of calls) {
    texts.push(holding.has(each) ? await textsOfCall(stored, each) : []);
    await yieldThread();
  }
  return texts;
}

/** Those of the calls that hold something new beside messages. */
async function withPrompts(
  execute: Database['execute'],
  calls: readonly CallToRead[],
): Promise<ReadonlySet<CallToRead>> {
  const slices = openCheckedSlices({ execute }); // of these calls alone: what they have read is not read again
  const ahead = calls.flatMap(({ call, seen }) =>
    call.request_page_depth > 0 ? [] : unseenIn(call.request_pages, seen),
  );
  const holding = new Set<CallToRead>();
  for (const each of calls) {
    try {
      if (!(await freshPieces(slices, each, ahead)).every(isMessage)) holding.add(each);
    } catch (error) {
      if (!(error instanceof BadSlice)) throw error;
    }
  }
  return holding;
}

/** The pieces of the request that no call before it had. @param ahead of other calls, to be read along */
async function freshPieces(
  slices: CheckedSlices,
  { call: { request_pages, request_page_depth }, seen }: CallToRead,
  ahead: readonly string[],
): Promise<Uint8Array[]> {
  let fresh = unseenIn(request_pages, seen);
  const listed: string[] = [];
  for (let level = request_page_depth; level > 0; level -= 1) {
    listed.push(...fresh);
    fresh = (await slices(fresh)).flatMap((page) => unseenIn(page, seen));
  }
  const bytes = await slices(fresh, ahead);
  for (const id of [...listed, ...fresh]) seen.slices.add(id);
  return bytes;
}

const unseenIn = (page: Uint8Array, { slices }: SeenInPrompts): string[] => idsIn(page).filter((id) => !slices.has(id));

async function textsOfCall(stored: StoredPieces, { call, seen }: CallToRead): Promise<PromptText[]> {
  const format = formatNamed(call.format);
  const request = format && (await stored.requestOf(call));
  if (!format || !request) return [];
  const continues = howContinued(format, call) === 'by id';
  const prompt = requestPrompt({ format, ...request, url: call.url, continues });
  // Where the provider held messages, none of the request's own is part of the system prompt.
  const blocks = prompt ? [...prompt.fixed, ...(continues ? [] : prompt.messages)] : [];
  return blocks.flatMap((block, n) => (block.section === 'messages' ? [] : textsOfBlock(block, n, seen.blocks)));
}

function textsOfBlock({ id, text, json }: PromptBlock, block: number, seen: Set<string>): PromptText[] {
  if (seen.has(id)) return [];
  seen.add(id);
  const own = text();
  let offset = 0;
  return (own === null ? textsIn(json(), ['type', 'cache_control']) : [own]).map((part) => {
    const placed = { block, offset, text: part };
    offset += part.length + 1;
    return placed;
  });
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
