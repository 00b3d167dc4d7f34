/** What a provider holds of a conversation, so that a request need not repeat it: the messages of the calls before, and their answers. */
import { canonicalJson } from '../merkle/canonical-json.ts';
import { withoutCacheControl } from '../merkle/projection.ts';
import type { ContentBlock } from '../model/content-block.ts';
import { blockId } from './block-id.ts';
import type { PromptBlock } from './prompt.ts';

/**
 * The conversation up to a call's answer, in pieces that the calls after it share. `whole`: all of it is recorded. `item_ids`: of the
 * answer, to which requests may refer.
 */
export type HeldConversation = {
  before: HeldConversation | null;
  blocks: readonly PromptBlock[];
  item_ids: readonly string[];
  count: number;
  whole: boolean;
};

export const heldAfter = (
  before: HeldConversation | null,
  { blocks, item_ids, whole }: Pick<HeldConversation, 'blocks' | 'item_ids' | 'whole'>,
): HeldConversation => ({
  before,
  blocks,
  item_ids,
  count: (before?.count ?? 0) + blocks.length,
  whole: whole && (before?.whole ?? true),
});

/** In order, the first message first. */
export function heldBlocks(held: HeldConversation | null): PromptBlock[] {
  const blocks = new Array<PromptBlock>(held?.count ?? 0);
  let end = blocks.length;
  for (let part = held; part; part = part.before) {
    end -= part.blocks.length;
    part.blocks.forEach((block, i) => {
      blocks[end + i] = block;
    });
  }
  return blocks;
}

const known = new WeakMap<PromptBlock, PromptBlock>();

/** A block that was sent, as the calls after it show it. Its cache mark stays: where requests cannot repeat a block, it is the only one. */
export function asHeld(block: PromptBlock): PromptBlock {
  const held = known.get(block) ?? { ...block, kind: 'held' as const, path: '' };
  known.set(block, held);
  return held;
}

/** The blocks of an answer, in the form in which answers of all formats are read: the client has not sent them. */
export function answerBlocks(content: readonly ContentBlock[]): PromptBlock[] {
  return content.map((block) => {
    const json = JSON.stringify(block);
    const text = block.text ?? block.thinking ?? null;
    const raw = () => Buffer.from(json);
    return {
      id: blockId(canonicalJson(withoutCacheControl(JSON.parse(json)))),
      section: 'messages',
      path: '',
      role: 'assistant',
      kind: 'held',
      call_id: block.tool_use_id ?? '',
      label: (block.tool_name || text || block.type).slice(0, 120),
      bytes: Buffer.byteLength(json),
      pixels: 0,
      picture_bytes: 0,
      picture_tokens: 0,
      mark: null,
      raw,
      json: () => JSON.parse(json) as unknown,
      text: () => text,
    };
  });
}
