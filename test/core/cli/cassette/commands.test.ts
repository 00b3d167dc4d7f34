import { Command } from 'commander';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addCassetteCommands } from '../../../../core/cli/cassette/commands.ts';
import { loadConfig } from '../../../../core/config/load.ts';
import { OperatorError } from '../../../../core/errors.ts';

const test = suite('svc cassette');

async function called(...args: string[]) {
  const calls: unknown[][] = [];
  const exits: number[] = [];
  const io = { out: () => {}, err: () => {}, env: {}, cwd: '/nowhere', home: '/nowhere' };
  const program = new Command('svc').exitOverride().configureOutput({ writeOut: io.out, writeErr: io.err });
  addCassetteCommands(program, {
    commands: {
      add: async (what, options) => {
        calls.push(['add', what, options]);
        return 1;
      },
      remove: async (name, options) => void calls.push(['remove', name, options]),
      list: async (options) => {
        calls.push(['list', options]);
        return 0;
      },
      new: async (name, folder) => void calls.push(['new', name, folder]),
      check: async (what) => {
        calls.push(['check', what]);
        return 0;
      },
      serve: async (what) => void calls.push(['serve', what]),
    },
    io,
    loaded: () => loadConfig({ flags: {}, env: {}, cwd: '/nowhere', home: '/nowhere' }),
    exit: (status) => exits.push(status),
  });
  await program.parseAsync(['cassette', ...args], { from: 'user' });
  return { calls, exits };
}

test('add hands over what was asked for, and ends with what became of it', async () => {
  const { calls, exits } = await called(
    'add',
    './x',
    '--name',
    'y',
    '-y',
    '--isolation',
    'inline',
    '--config',
    'a=1',
    '--config',
    'b=2',
  );
  assert.equal(calls, [['add', './x', { name: 'y', yes: true, isolation: 'inline', config: ['a=1', 'b=2'] }]]);
  assert.equal(exits, [1]);
  assert.equal((await called('add', './x')).calls, [
    ['add', './x', { name: null, yes: false, isolation: null, config: [] }],
  ]);
});

test('an isolation that does not exist is refused with those that do', async () => {
  try {
    await called('add', './x', '--isolation', 'vm');
    assert.unreachable();
  } catch (error) {
    assert.instance(error, OperatorError);
    assert.is((error as OperatorError).exitCode, 2);
    assert.is((error as OperatorError).message, "Cannot run it 'vm': there are only 'process' and 'inline'");
  }
});

test('remove, list and new hand over what was asked for', async () => {
  assert.equal((await called('remove', 'x', '--purge')).calls, [['remove', 'x', { purge: true }]]);
  assert.equal((await called('remove', 'x')).calls, [['remove', 'x', { purge: false }]]);
  assert.equal((await called('list', '--json')).calls, [['list', { json: true }]]);
  assert.equal((await called('new', 'x', 'there')).calls, [['new', 'x', 'there']]);
});

test.run();
