/** What a block on screen is known by: its span, its side and its place there. */
import type { SessionMatch } from '../../../../../model/find.ts';

export const blockKey = (span_id: string, side: SessionMatch['side'], block: number): string =>
  side === 'error' ? `${span_id} error` : `${span_id} ${side} ${block}`;
