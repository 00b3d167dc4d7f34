/** The fuzzer over both APIs, those of the cassettes included, on a server. */
import { beside, declareFuzz } from '../support/openapi-fuzz/suite.ts';
import { onServerDatabase } from '../support/whole-service.ts';

onServerDatabase(
  'fuzzed APIs',
  (test) => {
    declareFuzz(test);
    test.run();
  },
  beside,
);
