/** Derivation keeps pace with a flood of short conversations, and readers are answered meanwhile. */
import { suite } from 'uvu';
import { keepsUp } from '../support/flood.ts';

const CONVERSATIONS = 1_000;

for (const kind of ['embedded', 'server'] as const) {
  const test = suite(`a flood of ${CONVERSATIONS} conversations (${kind})`);

  test('is derived soon after it is stored; what comes last can be read at once', () => keepsUp(kind, CONVERSATIONS));

  if (kind === 'server' && !process.env.SVC_TEST_DSN) console.log('skip: a flood (server): SVC_TEST_DSN is not set');
  else test.run();
}
