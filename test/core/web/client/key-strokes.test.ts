/** Does each key mean the command that people expect? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { keyName, moveOf, strokeOf } from '../../../../core/web/client/key-strokes.ts';

const test = suite('strokeOf');
const command = (does: string) => ({ does, run: () => undefined });
const page = { j: command('next'), 'g s': command('sessions'), s: command('star') };
const frame = { j: command('other'), 'g p': command('spend'), g: command('alone') };

test('the group that comes first goes before', () => {
  assert.is(strokeOf(null, 'j', 0, [page, frame]).command?.does, 'next');
  assert.is(strokeOf(null, 'x', 0, [page, frame]).command, null);
});

test('two strokes within a second are one command, of any group', () => {
  const groups = [page, { 'g p': command('spend') }];
  const first = strokeOf(null, 'g', 0, groups);
  assert.equal([first.command, first.begins], [null, 'g']);
  assert.is(strokeOf(first, 's', 900, groups).command?.does, 'sessions');
  assert.is(strokeOf(first, 'p', 900, groups).command?.does, 'spend');
  assert.is(strokeOf(first, 's', 1_100, groups).command?.does, 'star');
  assert.is(strokeOf(first, 'j', 100, groups).command?.does, 'next', 'a second that fits nothing counts by itself');
});

test('names of what every object has are no commands', () => {
  for (const key of ['constructor', 'toString', '__proto__']) assert.is(strokeOf(null, key, 0, [page]).command, null);
});

test('keys are named as commands are written', () => {
  const key = (name: string, modifiers = {}) =>
    keyName({ key: name, ctrlKey: false, metaKey: false, altKey: false, ...modifiers });
  assert.is(key('T'), 'T');
  assert.is(key('F', { metaKey: true }), 'Ctrl+f');
  assert.is(key('Enter', { altKey: true }), 'Alt+Enter');
});

test('a key does what it does alone, and nothing with Alt, Ctrl or the command key', () => {
  const moves = { ArrowLeft: 'back', y: 'copy' };
  const move = (key: string, modifiers = {}) =>
    moveOf(moves, { key, ctrlKey: false, metaKey: false, altKey: false, ...modifiers });
  assert.equal(
    ['ArrowLeft', 'y', 'ArrowUp', 'toString'].map((key) => move(key)),
    ['back', 'copy', undefined, undefined],
  );
  for (const key of ['ArrowLeft', 'y'])
    for (const held of ['altKey', 'ctrlKey', 'metaKey']) assert.is(move(key, { [held]: true }), undefined, held);
});

test.run();
