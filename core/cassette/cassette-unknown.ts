/** The refusal of a request to a cassette that is not installed. */
import { Refusal } from '../errors.ts';

export const cassetteUnknown = (): Refusal =>
  new Refusal('cassette-unknown', 'Cannot find the cassette: none is installed under that name');
