/** The same as flood.test.ts with eight times as many. */
import { floodSuites } from '../support/flood-suites.ts';

floodSuites(8_000);
