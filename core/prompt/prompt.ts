/** A prompt as a provider caches it: blocks in the order tools, system, messages, and the parameters that belong to the cache's key. */
import type { PromptSection } from '../model/cache-break.ts';
import type { BlockKind } from '../model/call-context.ts';

export type PromptBlock = {
  id: string; // SHA-256, hex, of the canonical JSON without `cache_control`
  section: PromptSection;
  path: string; // 'tools[14]', 'system[2]', 'messages[3].content[1]'; '' for what the provider held
  role: string;
  kind: BlockKind;
  label: string; // a name, or the first 120 characters
  bytes: number; // UTF-8, of its JSON
  pixels: number; // of an image, 0 for all else: an image's tokens follow from its area
  mark: '5m' | '1h' | null; // the client's cache mark on it
  json: () => unknown; // parsed when it is needed
};

export type Prompt = {
  provider: string;
  format: string;
  reach: 'whole' | 'tail'; // tail: of what the provider held, not all is recorded
  blocks: readonly PromptBlock[];
  /** Those that providers name as part of the cache's key: thinking, tool_choice, betas …; the value as JSON text. */
  parameters: readonly { name: string; value: string }[];
};

/** How two prompts compare. `common`: blocks that both begin with. */
export type PromptChange =
  | { op: 'add'; after: number }
  | { op: 'remove'; before: number }
  | { op: 'move'; before: number; after: number }
  | { op: 'change'; before: number; after: number; path: string; at: number | null };
export type PromptDiff = { common: number; changes: readonly PromptChange[] };
