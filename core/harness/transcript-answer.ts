/** Reading pieces of a transcript, which is untrusted: what a wire format refuses is left out, not thrown. */
import type { Reply } from '../model/reply.ts';
import { Unreadable } from '../provider/format.ts';

/** What was read; null when it cannot be. */
export function readable<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

/** An answer of which the client read no end. */
export const brokenOff = (reply: Reply): Reply => ({ ...reply, complete: false, stop_reason: '' });
