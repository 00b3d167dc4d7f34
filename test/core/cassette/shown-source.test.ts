import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { shownSource } from '../../../core/cassette/shown-source.ts';

const test = suite('shown source');

for (const [source, shown] of [
  ['https://dana:s@acme.example/openapi?key=s', 'https://acme.example/openapi?[redacted]'],
  ['git+https://s@github.com/a/b.git#main', 'git+https://[redacted]@github.com/a/b.git#main'],
  ['git+ssh://git:s@host/a.git', 'git+ssh://[redacted]@host/a.git'],
  ['./cassettes/weather', './cassettes/weather'],
  ['@acme/weather@1.2.0', '@acme/weather@1.2.0'],
] as const) {
  test(`${source} is shown without what it holds of a credential`, () => assert.is(shownSource(source), shown));
}

test.run();
