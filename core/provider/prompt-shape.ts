/** The shape of a prompt in the requests of a wire format: which members of the body the model reads, in cache order, and the blocks in each. */
import type { PromptSection } from '../model/cache-break.ts';
import type { BlockKind } from '../model/call-context.ts';

/** One block of a prompt, within an element of an array or a member of the body. */
export type BlockPart = {
  at: readonly (string | number)[]; // the keys and places that lead to it; empty: the whole value
  role: string;
  kind: BlockKind;
  name: string; // '' for none: then its text labels it
  text: string | null;
  call_id: string; // of a tool's call or result; '' for all else
  pictures: readonly string[]; // in base64; '' for one that is only named by its address
};

export type PromptMember = {
  key: string; // top-level
  section: PromptSection;
  inOne?: true; // though it is an array, it has no elements of its own
  /** The blocks of an element, where the member is an array, else of the member itself. Whatever the value holds, nothing is thrown. */
  parts(value: unknown): BlockPart[];
};

export type PromptShape = {
  /** In the order in which the provider caches them. */
  members: readonly PromptMember[];
  /** Dotted paths of what a request sets besides. `keyed`: those that the provider names as part of the cache's key. */
  parameters: { keyed: readonly string[]; others: readonly string[] };
  /** Request headers of the same kind. */
  keyedHeaders: readonly string[];
  /** The form of a text that may also stand as a plain string: both are one block. */
  textPart(text: string, role: string): Record<string, unknown>;
  /** Cache marks of clients, which are no part of a block. */
  marks: readonly string[];
  /** What the provider may hold of a request, so that others only continue it; null: nothing. */
  holds: HeldRequest | null;
  /** The tokens of a picture, as the provider publishes them. */
  pictureTokens(size: PictureSize): number;
};

/** `fixed`: its tools and system prompt beside its messages. `onlyWith`: the parameter of a request without which nothing of it is held. */
export type HeldRequest = { fixed: boolean; onlyWith?: string };

export type PictureSize = { width: number; height: number };
