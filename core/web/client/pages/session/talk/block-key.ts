/** What a block on screen is known by: its span, its side and its place there. */
import type { Found } from '../find/found.ts';

export const blockKey = (span_id: string, side: Found['side'], block: number): string =>
  side === 'error' ? `${span_id} error` : `${span_id} ${side} ${block}`;
