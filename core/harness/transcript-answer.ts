/** Can a piece of a transcript be read? Its words are a stranger's: what a wire format refuses is left out, not thrown. */
import { Unreadable } from '../provider/format.ts';

/** null: it cannot. */
export function readable<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}
