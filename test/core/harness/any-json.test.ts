/** Whatever strangers send, no harness throws, and what it says keeps within its bounds. */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { normalAction } from '../../../core/harness/action.ts';
import type { CallTraits, Task } from '../../../core/harness/harness.ts';
import { harnesses, harnessOf, injectedKind, threadOf } from '../../../core/harness/harnesses.ts';
import { CallKind } from '../../../core/model/call-kind.ts';
import type { ContentBlock } from '../../../core/model/content-block.ts';

const test = suite('any JSON');

const MARKS = [
  ...['<transcript>', '</transcript>', '<block>yes', '<thinking>', '</thinking>', '{"title"', '{"name":"a"}', '#12'],
  ...['You are a security monitor', 'agentId: a1', 'Primary Request and Intent', 'Current Work', '[SUGGESTION MODE'],
  ...[
    'summary of the conversation so far',
    'You are a title generator',
    'context checkpoint compaction',
    '\n',
    'Bash ls',
  ],
];
const words = fc
  .array(fc.oneof(fc.constantFrom(...MARKS), fc.string({ unit: 'binary', maxLength: 12 })), { maxLength: 6 })
  .map((parts) => parts.join(''));
const json: fc.Arbitrary<unknown> = fc.jsonValue({ maxDepth: 3 });
const block: fc.Arbitrary<ContentBlock> = fc.record(
  {
    type: fc.constantFrom('text', 'tool_use', 'tool_result', 'thinking', 'x'),
    text: words,
    tool_output: words,
    thinking: words,
    tool_input: json,
    is_error: fc.boolean(),
    content: json,
  },
  { requiredKeys: ['type'] },
);
const message = fc.record({
  role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const, 'tool' as const),
  content: fc.array(block, { maxLength: 4 }),
});
const call: fc.Arbitrary<CallTraits> = fc
  .record({
    harness_id: fc.constantFrom('claude', 'codex', 'opencode', 'unknown', 'pi', ''),
    stream: fc.boolean(),
    max_tokens: fc.constantFrom(null, 1, 64, 4096),
    tool_count: fc.nat(3),
    system: words,
    messages: fc.array(message, { maxLength: 4 }),
    answer: fc.array(block, { maxLength: 3 }),
  })
  .map(({ system, messages, answer, ...head }) => ({
    ...head,
    system: () => system,
    first: () => messages[0] ?? null,
    last: (back = 0) => messages[messages.length - 1 - back] ?? null,
    reply: {
      ...{ content: answer, model: '', response_id: '', stop_reason: '', usage: null, usage_verbatim: null },
      ...{ complete: true, error: null },
    },
  }));
const KEYS = [
  ...['prompt', 'description', 'subagent_type', 'message', 'items', 'task_name', 'taskId', 'subject', 'status'],
  ...['todos', 'plan', 'step', 'content', 'source', 'subagent', 'thread_spawn', 'agent_path', 'agent_nickname'],
];
const members = fc.dictionary(
  fc.constantFrom(...KEYS),
  fc.oneof(json, words, fc.dictionary(fc.constantFrom(...KEYS), json)),
);
const TOOLS = [
  'Agent',
  'Task',
  'spawn_agent',
  'TodoWrite',
  'TaskCreate',
  'TaskUpdate',
  'update_plan',
  'todowrite',
  'x',
];
const tool = fc.record({ tool_name: fc.oneof(fc.constantFrom(...TOOLS), words), tool_input: fc.oneof(members, json) });
const task: fc.Arbitrary<Task> = fc.record({ id: fc.constantFrom('1', '12'), subject: words, status: words });

const each = <T>(arbitrary: fc.Arbitrary<T>, holds: (value: T) => void) =>
  fc.assert(fc.property(arbitrary, holds), { numRuns: 500 });

test('calls have one of the kinds, and an action that the database takes', () => {
  each(call, (traits) => {
    for (const harness of harnesses) {
      const kind = harness.callKind(traits);
      assert.ok(kind === null || CallKind.safeParse(kind).success);
      const judged = normalAction(harness.judgedAction(traits));
      assert.ok(judged.length <= 2000 && judged.isWellFormed() && !judged.includes('\0'));
    }
  });
});

test('an action in normal form stays as it is', () => {
  each(fc.string({ unit: 'binary', maxLength: 60 }), (action) => {
    const normal = normalAction(action);
    if (!normal.startsWith('$ ')) assert.is(normalAction(normal), normal);
  });
  assert.is(normalAction(`  $ Echo "$HOME"\n\t${'x'.repeat(9_000)}`).length, 2000);
});

test('answers, results and inputs of tools', () => {
  each(fc.tuple(tool, block, fc.array(block, { maxLength: 3 }), fc.array(task, { maxLength: 3 })), (given) => {
    const [use, result, output, tasks] = given;
    for (const harness of harnesses) {
      harness.verdict(output);
      assert.type(harness.titleIn(output), 'string');
      for (const name of harness.spawned(result)) assert.type(name, 'string');
      const spawn = harness.spawn(use);
      if (spawn) for (const text of Object.values(spawn)) assert.type(text, 'string');
      for (const { id, subject, status } of harness.tasksAfter(tasks, use, result) ?? [])
        for (const text of [id, subject, status]) assert.type(text, 'string');
    }
  });
});

test('headers, bodies, metadata and messages', () => {
  const headers = fc.array(
    fc.tuple(fc.constantFrom('user-agent', 'x-codex-turn-metadata', 'session-id', 'thread-id'), words),
  );
  const body = fc.oneof(fc.constant(null), fc.dictionary(fc.constantFrom('metadata', 'x'), fc.oneof(json, members)));
  each(fc.tuple(headers, body, members, message), ([sent, skeleton, metadata, sentMessage]) => {
    harnessOf(sent, skeleton);
    assert.type(threadOf(sent), 'string');
    assert.type(injectedKind(sentMessage), 'string');
    for (const harness of harnesses) {
      const { path, label } = harness.thread(metadata);
      assert.equal([typeof path, typeof label], ['string', 'string']);
      harness.thread({ source: JSON.stringify(metadata) });
    }
  });
});

test('a huge text is looked through in the time that its length takes', () => {
  const huge = 'Primary Request and Intent '.repeat(40_000) + '<block>'.repeat(40_000) + 'agentId: '.repeat(40_000);
  const hugeMessage = { role: 'user' as const, content: [{ type: 'text', text: huge }] };
  const reply = {
    ...{ content: hugeMessage.content, model: '', response_id: '', stop_reason: '', usage: null, usage_verbatim: null },
    ...{ complete: true, error: null },
  };
  const ends = { first: () => hugeMessage, last: () => hugeMessage };
  for (const harness of harnesses) {
    for (const system of ['', huge]) {
      const call = { ...ends, harness_id: harness.id, stream: false, max_tokens: 64, tool_count: 0, reply };
      harness.callKind({ ...call, system: () => system });
      harness.judgedAction({ ...call, system: () => system });
    }
    harness.verdict(hugeMessage.content);
    harness.spawned({ type: 'tool_result', tool_output: huge });
    harness.titleIn(hugeMessage.content);
  }
});

test.run();
