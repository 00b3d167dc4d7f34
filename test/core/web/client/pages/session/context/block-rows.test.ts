import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CallContext } from '../../../../../../../core/model/call-context.ts';
import { entriesOf } from '../../../../../../../core/web/client/pages/session/context/block-changes.ts';
import {
  type BlockOrder,
  biggest,
  blockGroups,
  blockRows,
  entryKey,
  firstToShow,
  foldKey,
} from '../../../../../../../core/web/client/pages/session/context/block-rows.ts';
import { callContext, contextBlock } from '../../../../../../support/call-contexts.ts';

const test = suite('the rows of a context');

const gone = contextBlock(0, { section: 'system', kind: 'instructions', path: 'system[0]' });
const context = callContext(
  [
    contextBlock(0, { section: 'tools', kind: 'tool-definition', path: 'tools[0]', tokens: 5 }),
    contextBlock(1, { section: 'messages', kind: 'user', path: 'messages[0].content[0]', tokens: 7 }),
    contextBlock(2, { section: 'messages', kind: 'tool-result', path: 'messages[2].content[0]', tokens: 90 }),
    contextBlock(3, { section: 'messages', kind: 'user', path: 'messages[10].content[0]', tokens: 9 }),
  ],
  {
    against: {
      ...{ raw_turn_id: 1, common: 0, common_tokens: null },
      blocks: [gone, ...[1, 2, 3].map((n) => contextBlock(n))],
      changes: [
        { op: 'remove', before: 0 },
        { op: 'change', before: 3, after: 3, path: 'messages[10].content[0].text', at: 1 },
      ],
    },
  },
);

const names = (of: CallContext, order: BlockOrder, roots: string[] = []) =>
  blockGroups(of, order, roots).map(({ key, entries }) => `${key}: ${entries.map(entryKey).join(' ')}`);

test('by kind: tools and system first, then what fills the prompt most', () => {
  assert.equal(names(context, 'kind'), ['tool-definition: 0', 'instructions: gone-0', 'tool-result: 2', 'user: 1 3']);
});

test('in cache order: tools, system, messages, also where a section holds only what is gone', () => {
  assert.equal(names(context, 'cache'), ['tools: 0', 'system: gone-0', 'messages: 1 2 3']);
});

test('on the wire: by the members of the request, within one by the numbers of the paths', () => {
  const mixed = callContext([
    contextBlock(0, { path: 'input[10]' }),
    contextBlock(1, { path: 'input[2].content[11]' }),
    contextBlock(2, { path: 'input[2].content[9]' }),
    contextBlock(3, { path: '', kind: 'held' }),
    contextBlock(4, { path: 'instructions', section: 'system' }),
  ]);
  assert.equal(names(mixed, 'wire', ['model', 'instructions', 'input']), [': 3', 'instructions: 4', 'input: 2 1 0']);
});

test('kinds are folded at first, sections are not; what was toggled is the other way', () => {
  const shown = (order: BlockOrder, toggled: string[] = [], changedOnly = false) =>
    blockRows(blockGroups(context, order), { order, toggled: new Set(toggled), changedOnly }).map(({ key }) => key);
  assert.equal(shown('kind'), ['group tool-definition', 'group instructions', 'group tool-result', 'group user']);
  assert.equal(shown('cache', [foldKey({ key: 'messages' }, { order: 'cache', changedOnly: false })]), [
    ...['group tools', '0', 'group system', 'gone-0', 'group messages'],
  ]);
  assert.equal(shown('kind', [], true), ['group instructions', 'gone-0', 'group user', '3']);
});

test('what is shown first: a change, else where the cache broke, else what is new, else nothing', () => {
  const first = (of: CallContext) => {
    const entry = firstToShow(of, entriesOf(of));
    return entry && entryKey(entry);
  };
  assert.is(first(context), '3');
  const added = {
    ...context,
    against: context.against && { ...context.against, changes: [{ op: 'add' as const, after: 2 }] },
  };
  assert.is(first(added), '2');
  assert.is(first({ ...context, against: null }), null);
});

test('the biggest by tokens, or by bytes where nothing was counted', () => {
  assert.equal(
    biggest(context.blocks, 2).map(({ n }) => n),
    [2, 3],
  );
  const uncounted = [contextBlock(0, { tokens: null, bytes: 1 }), contextBlock(1, { tokens: null, bytes: 2 })];
  assert.equal(
    biggest(uncounted, 1).map(({ n }) => n),
    [1],
  );
});

test.run();
