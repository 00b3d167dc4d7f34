/** What reading a call depends on: wire formats and prices, passed in so that a fixed reducer or an operator's prices apply everywhere. */

import { type PriceOf, priceOf } from '../price/prices.ts';
import type { WireFormat } from '../provider/format.ts';
import { type FormatId, formatById } from '../provider/formats.ts';

export type Reader = { formatById: (id: FormatId) => WireFormat; priceOf: PriceOf };

/** The formats of `core/provider` and the list prices. */
export const builtIn: Reader = { formatById, priceOf };
