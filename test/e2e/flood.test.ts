/** Derivation keeps pace with a flood of short conversations, and readers are answered meanwhile. */
import { floodSuites } from '../support/flood-suites.ts';

floodSuites(1_000);
