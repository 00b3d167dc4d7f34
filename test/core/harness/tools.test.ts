/** What harnesses' tools do: threads they start, tasks they keep. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Task } from '../../../core/harness/harness.ts';
import { spawnedNames, spawnIn, tasksAfter } from '../../../core/harness/harnesses.ts';
import type { ContentBlock } from '../../../core/model/content-block.ts';

const test = suite('harness tools');

const result = (tool_output = '', is_error = false): ContentBlock => ({ type: 'tool_result', tool_output, is_error });
const spawn = (harness_id: string, tool_name: string, tool_input: unknown) =>
  spawnIn(harness_id, { tool_name, tool_input });

test('Claude Code spawns with Agent, which was Task', () => {
  const input = { prompt: 'Look', subagent_type: 'Explore', description: 'Look around' };
  for (const name of ['Agent', 'Task'])
    assert.equal(spawn('claude', name, input), { prompt: 'Look', label: 'Explore', description: 'Look around' });
  assert.is(spawn('claude', 'Agent', { to: 'x' }), null);
  assert.is(spawn('claude', 'Bash', input), null);
  assert.is(spawn('claude', 'spawn_agent', { message: 'Look' }), null, 'that is another harness’s');
});

test('Claude Code: the result’s last line names the agent, whatever the agent itself says', () => {
  const output = 'agentId: fake\nI am done.\nagentId: a9b2a396fff8564e8 (use SendMessage …)\n<usage>18</usage>';
  assert.equal(spawnedNames('claude', result(output)), ['a9b2a396fff8564e8']);
  assert.equal(spawnedNames('claude', result('The agentId: x is unknown')), []);
});

test('Codex spawns with spawn_agent, of whichever namespace', () => {
  for (const name of ['spawn_agent', 'multi_agent_v1.spawn_agent', 'collaboration__spawn_agent'])
    assert.equal(spawn('codex', name, { message: 'Look', task_name: 'scout' }), {
      prompt: 'Look',
      label: 'scout',
      description: '',
    });
  assert.is(spawn('codex', 'spawn_agent', { items: [{ type: 'text', text: 'a' }, { text: 'b' }] })?.prompt, 'a\nb');
  assert.is(spawn('codex', 'spawn_agent', { message: `gAAAAA${'x'.repeat(80)}==` })?.prompt, '', 'sealed');
  assert.is(spawn('codex', 'respawn_agents', { message: 'Look' }), null);
});

test('Codex: the result names the new thread by id or by path', () => {
  assert.equal(spawnedNames('codex', result('{"agent_id":"01a1","nickname":"Leibniz"}')), ['01a1']);
  assert.equal(spawnedNames('codex', result('{"task_name":"/root/scout"}')), ['/root/scout']);
  assert.equal(spawnedNames('codex', result('spawn failed')), []);
});

test('a session whose harness nobody told is looked at with the eyes of all', () => {
  assert.ok(spawn('unknown', 'Agent', { prompt: 'Look' }));
  assert.ok(spawn('my-agent', 'spawn_agent', { message: 'Look' }));
  assert.equal(spawnedNames('unknown', result('{"agent_id":"01a1"}')), ['01a1']);
});

const run = (tasks: readonly Task[], tool_name: string, tool_input: unknown, output: ContentBlock = result()) =>
  tasksAfter('claude', tasks, { tool_name, tool_input }, output);

test('Claude Code: a created task has the number of its result, and updates change it by that', () => {
  const one = run([], 'TaskCreate', { subject: 'Parse' }, result('Task #1 created successfully: Parse')) ?? [];
  assert.equal(one, [{ id: '1', subject: 'Parse', status: 'pending' }]);
  const two = run(one, 'TaskCreate', { subject: 'Print' }, result('Task #2 created successfully: Print')) ?? [];
  const done = run(two, 'TaskUpdate', { taskId: '1', status: 'completed' });
  assert.equal(done?.[0], { id: '1', subject: 'Parse', status: 'completed' });
  assert.equal(run(two, 'TaskUpdate', { taskId: '2', subject: 'Show' })?.[1], {
    id: '2',
    subject: 'Show',
    status: 'pending',
  });
  assert.equal(run(two, 'TaskUpdate', { taskId: '1', status: 'deleted' }), two.slice(1));
});

test('a task tool that failed, or speaks of no task that is known, changes nothing', () => {
  const tasks = [{ id: '1', subject: 'Parse', status: 'pending' }];
  assert.equal(run(tasks, 'TaskCreate', { subject: 'x' }, result('no number')), tasks);
  assert.equal(run(tasks, 'TaskCreate', { subject: 'x' }, result('#2', true)), tasks);
  assert.equal(run(tasks, 'TaskUpdate', { taskId: '9', status: 'completed' }), tasks);
  assert.equal(run(tasks, 'TodoWrite', { todos: 'x' }), tasks);
  assert.equal(run(tasks, 'TodoWrite', { todos: [] }, result('', true)), tasks);
});

test('no other tool changes the tasks', () => {
  for (const name of ['TaskList', 'Bash', 'constructor', '__proto__', '']) assert.is(run([], name, {}), null, name);
});

test('a tool that writes the whole list replaces it, in each harness’s words', () => {
  const expected = [
    { id: '1', subject: 'Parse', status: 'completed' },
    { id: '2', subject: 'Print', status: 'pending' },
  ];
  const list = (key: string) => [
    { [key]: 'Parse', status: 'completed' },
    { [key]: 'Print', status: 'pending' },
  ];
  const before = [{ id: '7', subject: 'old', status: 'pending' }];
  assert.equal(run(before, 'TodoWrite', { todos: list('content') }), expected);
  const plan = { tool_name: 'update_plan', tool_input: { plan: list('step') } };
  assert.equal(tasksAfter('codex', before, plan, result('Plan updated')), expected);
  const todos = { tool_name: 'todowrite', tool_input: { todos: list('content') } };
  assert.equal(tasksAfter('opencode', before, todos, result()), expected);
});

test('no more than 200 tasks of 200 characters are kept', () => {
  const todos = Array.from({ length: 500 }, () => ({ content: 'x'.repeat(500), status: 'pending' }));
  const kept = run([], 'TodoWrite', { todos }) ?? [];
  assert.is(kept.length, 200);
  assert.is(kept[0]?.subject.length, 200);
  const more = run(kept, 'TaskCreate', { subject: 'last' }, result('Task #900 created')) ?? [];
  assert.is(more.length, 200);
  assert.is(more.at(-1)?.subject, 'last');
});

test.run();
