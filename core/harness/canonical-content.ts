/** The hashed text of a message, without the tags of the known harnesses. Of all of them, whoever calls: the same text has one hash. */
import { canonicalMessage } from '../merkle/projection.ts';
import type { Message } from '../model/bucket.ts';
import { UNHASHED_TAGS } from './harnesses.ts';

export const canonicalContent = (message: Message): string => canonicalMessage(message, UNHASHED_TAGS);
