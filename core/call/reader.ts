/** What reading a call depends on: wire formats and prices, passed in so that a fixed reducer or an operator's prices apply everywhere. */
import { type PriceOf, priceOf } from '../price/prices.ts';
import type { WireFormat } from '../provider/format.ts';
import { type FormatId, formatById } from '../provider/formats.ts';
import type { AnswerCache } from './read-answer.ts';

export type Reader = {
  formatById: (id: FormatId) => WireFormat;
  priceOf: PriceOf;
  /** What it has read before. Derivation reads an answer soon after intake has; only a reader that serves both has this. */
  answers?: AnswerCache;
};

/** The formats of `core/provider` and the list prices. */
export const builtIn: Reader = { formatById, priceOf };
