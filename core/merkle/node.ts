/** The hash of a node: over its content and its parent's hash, and nothing else. */
import { hash } from 'node:crypto';

/**
 * Lower-case hex SHA-256 of the canonical JSON `{"content": …, "parent": …}`. `canonical` is what `canonicalContent` gives;
 * a root's parent is null.
 */
export const nodeHash = (parent: string | null, canonical: string): string =>
  hash('sha256', `{"content":${canonical},"parent":"${parent ?? ''}"}`, 'hex');
