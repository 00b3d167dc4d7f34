import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalContent } from '../../../core/harness/canonical-content.ts';
import { chain } from '../../../core/merkle/chain.ts';
import { nodeHash } from '../../../core/merkle/node.ts';
import type { MessageRole } from '../../../core/model/bucket.ts';

const test = suite('chain');

const canonicalText = (text: string, role: MessageRole = 'user') =>
  canonicalContent({ role, content: [{ type: 'text', text }] });
const link = (text: string, injected = '') => ({ canonical: canonicalText(text), injected });

test('a root by the worked vector', () => {
  assert.is(nodeHash(null, canonicalText('hello')), 'af300c6bb7b341e43949236e3a34c210e868664b3c07a8287ca74a5943863bd5');
});

test('parent, role and content move the hash', () => {
  const root = nodeHash(null, canonicalText('hello'));
  const hashes = [
    root,
    nodeHash(root, canonicalText('hello')),
    nodeHash(null, canonicalText('hello', 'assistant')),
    nodeHash(null, canonicalText('hello!')),
  ];
  assert.is(new Set(hashes).size, hashes.length);
});

test('each message hangs on the one before', () => {
  const nodes = chain([link('a'), link('b'), link('c')]);
  assert.equal(
    nodes.map(({ parent_hash, depth }) => [parent_hash, depth]),
    [
      [null, 0],
      [nodes[0]?.node_hash, 1],
      [nodes[1]?.node_hash, 2],
    ],
  );
  assert.is(nodes[1]?.node_hash, nodeHash(nodes[0]?.node_hash ?? '', canonicalText('b')));
});

test('injected context hangs off the spine and carries nothing', () => {
  const plain = chain([link('a'), link('b')]);
  const nodes = chain([
    link('x', 'claude-md'),
    link('a'),
    link('i', 'skills-list'),
    link('j', 'mode-banner'),
    link('b'),
  ]);
  assert.equal([nodes[1], nodes[4]], plain);
  assert.is(nodes[0]?.parent_hash, null);
  assert.equal([nodes[2]?.parent_hash, nodes[3]?.parent_hash], [plain[0]?.node_hash, plain[0]?.node_hash]);
  assert.equal([nodes[0]?.depth, nodes[2]?.depth, nodes[3]?.depth], [0, 1, 1]);
});

test('a chain may be continued where it ended', () => {
  const links = fc.array(
    fc.record({ canonical: fc.constantFrom('"a"', '"b"'), injected: fc.constantFrom('', 'claude-md') }),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(links, fc.nat(12), (all, cut) => {
      const first = chain(all.slice(0, cut));
      const tip = first.filter((_, i) => all[i]?.injected === '').at(-1);
      const rest = chain(all.slice(cut), tip && { hash: tip.node_hash, depth: tip.depth });
      assert.equal([...first, ...rest], chain(all));
    }),
  );
  assert.equal(chain([link('a')], { hash: null, depth: 0 }), chain([link('a')]));
  assert.equal(chain([]), []);
});

test.run();
