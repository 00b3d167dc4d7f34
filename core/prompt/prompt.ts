/** A prompt as a provider caches it: blocks in the order tools, system, messages, and the parameters that belong to the cache's key. */
import type { PromptSection } from '../model/cache-break.ts';
import type { BlockKind } from '../model/call-context.ts';

export type PromptBlock = {
  id: string; // SHA-256, hex, of the canonical JSON without `cache_control`
  section: PromptSection;
  path: string; // 'tools[14]', 'system[2]', 'messages[3].content[1]'; '' for what the provider held
  role: string;
  kind: BlockKind;
  call_id: string; // of a tool's call or result; '' for all else
  label: string; // a name, or the first 120 characters
  bytes: number; // UTF-8, of its JSON
  pixels: number; // of the pictures in it, 0 for none: a picture's tokens follow from its area
  picture_bytes: number; // how many of `bytes` are the data of pictures
  picture_tokens: number; // what the provider's published rule makes of their areas
  mark: '5m' | '1h' | null; // the client's cache mark on it
  raw: () => Uint8Array; // its JSON in the request
  json: () => unknown; // parsed when it is needed
  text: () => string | null; // its text, where it has one
};

export type Prompt = {
  provider: string;
  format: string;
  reach: 'whole' | 'tail'; // tail: of what the provider held, not all is recorded
  blocks: readonly PromptBlock[];
  parameters: readonly PromptParameter[];
};

/** `value`: as JSON text. `keyed`: the provider names it as part of the cache's key (thinking, tool_choice, betas …). */
export type PromptParameter = { name: string; value: string; keyed: boolean };

/** How two prompts compare. `common`: blocks that both begin with. */
export type PromptChange =
  | { op: 'add'; after: number }
  | { op: 'remove'; before: number }
  | { op: 'move'; before: number; after: number }
  | { op: 'change'; before: number; after: number; path: string; at: number | null };
export type PromptDiff = { common: number; changes: readonly PromptChange[] };
