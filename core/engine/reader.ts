/** What must be known to read a call? Wire formats and prices: handed in, so that a mended reducer or an operator's prices take effect everywhere. */
import { type PriceOf, priceOf } from '../derive/prices.ts';
import type { FormatId } from '../model/provider.ts';
import type { WireFormat } from '../provider/format.ts';
import { formatById } from '../provider/formats.ts';

export type Reader = { formatById: (id: FormatId) => WireFormat; priceOf: PriceOf };

/** The formats of `core/provider` and the list prices. */
export const builtIn: Reader = { formatById, priceOf };
