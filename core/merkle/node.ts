/** The hash of a node: over its content and its parent's hash, and nothing else. */
import { hash } from 'node:crypto';

/**
 * Lower-case hex SHA-256 of the canonical JSON `{"content":…,"parent":"…"}`. `canonical` is what `canonicalContent` gives.
 * @param parent null for a root, whose parent is hashed as the empty text
 */
export const nodeHash = (parent: string | null, canonical: string): string =>
  hash('sha256', `{"content":${canonical},"parent":"${parent ?? ''}"}`, 'hex');
