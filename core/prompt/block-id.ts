/** The identity of a block: SHA-256 over its canonical JSON, in lower-case hex. */
import { createHash } from 'node:crypto';

/** @param canonical RFC 8785 JSON, without cache marks */
export const blockId = (canonical: string): string => createHash('sha256').update(canonical).digest('hex');
