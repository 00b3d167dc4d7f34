/** What blocks amount to: tokens, and how well they are known. */
import type { CallContext, ContextBlock } from '../../../../../model/call-context.ts';
import type { Entry } from './block-changes.ts';

/** As a block's own: `shared` is a share of what was billed for several, `none` is no count. */
export type Basis = ContextBlock['basis'];

export type Sum = { blocks: number; tokens: number | null; basis: Basis; bytes: number };

export function sumOf(blocks: readonly ContextBlock[]): Sum {
  const counted = blocks.filter(({ tokens }) => tokens !== null);
  return {
    blocks: blocks.length,
    tokens: counted.length === 0 ? null : counted.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0),
    basis: counted.length === 0 ? 'none' : blocks.every(({ basis }) => basis === 'billed') ? 'billed' : 'shared',
    bytes: blocks.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** How much of the prompt it is, from 0 to 1: of what was billed, or of the bytes where nothing was counted. */
export function shareOf({ tokens, bytes }: Pick<Sum, 'tokens' | 'bytes'>, { usage, blocks }: CallContext): number {
  const whole = usage ? usage.input_tokens : blocks.reduce((sum, block) => sum + block.bytes, 0);
  return whole === 0 ? 0 : (usage ? (tokens ?? 0) : bytes) / whole;
}

export type ChangeCounts = { added: number; gone: number; changed: number; moved: number };

export function changeCounts(entries: readonly Entry[]): ChangeCounts {
  const count = (op: string) => entries.filter(({ change }) => change?.op === op).length;
  return { added: count('add'), gone: count('remove'), changed: count('change'), moved: count('move') };
}

/** In words, as `~1 changed, +2 new`; '' where there is nothing to compare with. */
export function changeText({ added, gone, changed, moved }: ChangeCounts, isCompared: boolean): string {
  const words = [
    [changed, `~${changed} changed`],
    [added, `+${added} new`],
    [gone, `−${gone} gone`],
    [moved, `↕${moved} moved`],
  ] as const;
  const own = words.flatMap(([count, word]) => (count > 0 ? [word] : []));
  if (own.length > 0) return own.join(', ');
  return isCompared ? 'same' : '';
}
