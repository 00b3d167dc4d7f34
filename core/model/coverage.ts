/** Coverage: how each request ended. Closed lists, so that every request has an outcome. */
import { z } from 'zod';

/** How the exchange itself ended on the wire. */
export const Ending = z.enum(['complete', 'client_closed', 'upstream_cut', 'upstream_error', 'overflow', 'crashed']);
export type Ending = z.infer<typeof Ending>;

/** One per request. `captured` and `partial` are turns; every other word is the reason why the request is not one. */
export const Outcome = z.enum([
  'captured',
  'partial',
  'not_a_turn',
  'unsupported_format',
  'undecodable',
  'over_limit',
  'journal_full',
  'poison',
  'crashed',
  'disabled',
]);
export type Outcome = z.infer<typeof Outcome>;
