/** The kinds of blocks: what they are called, and the custom property with their colour. */
import type { BlockKind } from '../../../../../model/call-context.ts';

export const KINDS: Readonly<Record<BlockKind, readonly [word: string, colour: string]>> = {
  'tool-definition': ['tools', '--kind-tools'],
  instructions: ['system', '--kind-system'],
  user: ['you', '--kind-you'],
  assistant: ['assistant', '--kind-model'],
  thinking: ['thinking', '--kind-thinking'],
  'tool-call': ['tool calls', '--kind-tool-call'],
  'tool-result': ['tool results', '--kind-result'],
  injected: ['injected', '--kind-injected'],
  image: ['images', '--kind-image'],
  held: ['held by the provider', '--kind-system'],
  other: ['other', '--muted'],
};

export const kindWord = (kind: string): string => (Object.hasOwn(KINDS, kind) ? KINDS[kind as BlockKind][0] : kind);
