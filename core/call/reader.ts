/** What reading a call depends on: wire formats and prices, passed in so that a fixed reducer or an operator's prices apply everywhere. */

import { LRUCache } from 'lru-cache';
import type { FormatId } from '../model/provider.ts';
import { type PriceOf, priceOf } from '../price/prices.ts';
import type { WireFormat } from '../provider/format.ts';
import { formatById } from '../provider/formats.ts';
import type { AnswerRead } from './read-answer.ts';

/** By format, slice, content type and coding. */
export type AnswerCache = LRUCache<string, AnswerRead>;

export type Reader = {
  formatById: (id: FormatId) => WireFormat;
  priceOf: PriceOf;
  /** What it has read before. Derivation reads an answer soon after intake has; only a reader that serves both has this. */
  answers?: AnswerCache;
};

export const answerCache = (): AnswerCache => new LRUCache({ max: 256, maxSize: 4_194_304, maxEntrySize: 524_288 }); // in bytes of the answers as they came

/** The formats of `core/provider` and the list prices. */
export const builtIn: Reader = { formatById, priceOf };
