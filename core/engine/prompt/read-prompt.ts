/** Reads a call's prompt: what its request holds, and what the provider held before it. */
import { readAnswer } from '../../call/read-answer.ts';
import type { Database } from '../../db/database.ts';
import type { PromptCall } from '../../db/read/prompt-calls.ts';
import { answerBlocks, asHeld, type HeldConversation, heldAfter, heldBlocks } from '../../prompt/held.ts';
import type { Prompt, PromptBlock } from '../../prompt/prompt.ts';
import { type RequestPrompt, requestPrompt } from '../../prompt/request-prompt.ts';
import type { WireFormat } from '../../provider/format.ts';
import { formatNamed } from '../../provider/formats.ts';
import type { HeldRequest } from '../../provider/prompt-shape.ts';
import { type StoredPieces, storedPieces } from './stored-pieces.ts';

/** Reads the prompts of calls that come in the order of time. null: the request is missing, or cannot be read. */
export type PromptReader = (call: PromptCall) => Promise<Prompt | null>;

/** A call that others may continue. */
type Continued = {
  call: PromptCall;
  held: HeldConversation | null;
  whole: boolean; // all of its prompt is known
  sent: readonly PromptBlock[]; // what the provider holds of the request
  after?: Promise<HeldConversation>;
};

/** So many calls that are not among those read are followed back, each by a query. */
const MOST_FOREIGN = 200;

/** Remembers what was read, since a later call may continue any earlier one. */
export function openPromptReader(execute: Database['execute']): PromptReader {
  const pieces = storedPieces(execute);
  const read = new Map<string, Continued>();

  const promptOf = async (call: PromptCall, foreign: number): Promise<Prompt | null> => {
    const format = formatNamed(call.format);
    const request = format && (await pieces.requestOf(call));
    if (!format || !request) return null;
    const { holds } = format.prompt;
    const continues = howContinued(format, call);
    const before = continues ? await heldBefore(call, foreign) : null;
    const held_items = continues === 'by reference' && before ? before.item_ids : [];
    const held = continues === 'by reference' && held_items.length === 0 ? null : before;
    const own = requestPrompt({ format, ...request, url: call.url, continues: continues === 'by id', held_items });
    if (!own) return null;
    const whole = !own.refers && (continues === null || held?.whole === true);
    const { blocks, sent } = withHeld(own, held, continues === 'by reference');
    if (holds && mayBeHeld(own, holds)) {
      read.set(call.call_id, { call, held, whole, sent: holds.fixed ? [...own.fixed, ...sent] : sent });
    }
    return {
      provider: call.provider,
      format: call.format,
      reach: whole ? 'whole' : 'tail',
      blocks,
      parameters: own.parameters,
    };
  };

  const heldBefore = async ({ continues_call_id }: PromptCall, foreign: number): Promise<HeldConversation | null> => {
    if (continues_call_id === '') return null;
    if (!read.has(continues_call_id) && foreign < MOST_FOREIGN) {
      const earlier = await execute('promptCallNamed', { call_id: continues_call_id });
      if (earlier) await promptOf(earlier, foreign + 1);
    }
    const continued = read.get(continues_call_id);
    if (!continued) return null;
    continued.after ??= heldAfterCall(pieces, continued);
    return continued.after;
  };

  return (call) => promptOf(call, 0);
}

/**
 * How a request takes up what the provider holds: it has only what is new, or else all of the conversation with items of answers by
 * reference. null: it holds its prompt itself.
 */
export function howContinued({ prompt, referenceIn }: WireFormat, call: PromptCall): 'by id' | 'by reference' | null {
  if (prompt.holds === null || (call.continues_call_id === '' && !call.names_previous)) return null;
  return referenceIn && !call.names_previous ? 'by reference' : 'by id';
}

/**
 * The prompt's blocks, what the provider held before those that are new, and of the latter what it holds then. A request that refers to
 * items repeats its system prompt: that may have changed, and counts in place of the one before.
 */
function withHeld(own: RequestPrompt, held: HeldConversation | null, byReference: boolean) {
  if (!held || !byReference)
    return { blocks: [...own.fixed, ...heldBlocks(held), ...own.messages], sent: own.messages };
  const isMessage = ({ section }: PromptBlock) => section === 'messages';
  const sent = own.messages.filter(isMessage);
  const opening = own.messages.filter((block) => !isMessage(block));
  return { blocks: [...own.fixed, ...opening, ...heldBlocks(held).filter(isMessage), ...sent], sent };
}

const mayBeHeld = ({ parameters }: RequestPrompt, { onlyWith }: HeldRequest): boolean =>
  onlyWith === undefined || parameters.some(({ name }) => name === onlyWith);

async function heldAfterCall(pieces: StoredPieces, { call, held, sent, whole }: Continued): Promise<HeldConversation> {
  const format = formatNamed(call.format);
  const reply = format && (await answerOf(pieces, call, format));
  return heldAfter(held, {
    blocks: [...sent.map(asHeld), ...answerBlocks(reply?.content ?? [])],
    item_ids: reply?.item_ids ?? [],
    whole: whole && reply !== null,
  });
}

/** null: none came, or it cannot be read. */
async function answerOf(pieces: StoredPieces, call: PromptCall, format: WireFormat) {
  const answer = await pieces.answerOf(call);
  return answer && readAnswer(format, answer).reply;
}
