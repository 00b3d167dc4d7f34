import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalContent } from '../../../core/harness/canonical-content.ts';
import { UNHASHED_TAGS } from '../../../core/harness/harnesses.ts';
import { nodeHash } from '../../../core/merkle/node.ts';

const test = suite('canonicalContent');

/** As stored nodes were hashed. Another order, or a name in between, gives stored messages another hash. */
const TAGS = [
  ...['system-reminder', 'command-name', 'command-message', 'command-args', 'local-command-stdout'],
  ...['local-command-stderr', 'local-command-caveat', 'session', 'conversation', 'new-diagnostics'],
  ...['task-notification', 'status', 'summary', 'transcript', 'event', 'tool-use-id', 'output-file', 'task-id'],
  'environment_context',
];

test('the tags that stay out of hashes are those of stored nodes, in their order', () => {
  assert.equal(UNHASHED_TAGS, TAGS);
});

test('the hash of a message with every tag, to the letter', () => {
  const tags = TAGS.map((tag, i) => `${i} <${tag}>drop ${i}</${tag}>`).join('\n');
  const content = [
    { type: 'text', text: `${tags}\nkeep` },
    { type: 'text', text: 'a<sta<event>x</event>tus>b</status>c' },
    { type: 'tool_result', tool_result_id: 't', tool_output: '<status>drop</status>kept <user_instructions>too' },
  ];
  assert.is(
    nodeHash(null, canonicalContent({ role: 'user', content })),
    '83dce6d892c815800e623ed3cca94370afb0595d9965118e9ee908bbbfb33015',
  );
});

test.run();
