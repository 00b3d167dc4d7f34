/** The fuzzer over both APIs, those of the cassettes included, on the embedded database. */
import { beside, declareFuzz } from '../support/openapi-fuzz/suite.ts';
import { onEmbeddedDatabase } from '../support/whole-service.ts';

onEmbeddedDatabase(
  'fuzzed APIs',
  (test) => {
    declareFuzz(test);
    test.run();
  },
  beside,
);
