/** What was read of calls is forgotten once none comes, and read anew without a difference. */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { completeTurn } from '../../../core/call/complete-turn.ts';
import type { CallMemory } from '../../../core/call/memory.ts';
import { builtIn } from '../../../core/call/reader.ts';
import { openCallMemory } from '../../../core/engine/call-memory.ts';
import { openCall } from '../../../core/engine/intake/open-call.ts';
import { capturedCall, chat, chatAnswer } from '../../support/captured-calls.ts';
import { eventually } from '../../support/eventually.ts';

const test = suite('memory of calls');
const UNUSED_MS = 200;
const call = capturedCall({ n: 1, request: chat('Count', 'One', 'On'), response: chatAnswer('Two') });
const read = (memory: CallMemory) => completeTurn(openCall(call, memory, new Uint8Array(32)), null, memory);
const remembered = ({ bodies, readings }: CallMemory) => bodies.size + readings.messages.size + readings.recent.size;

test('it is kept while calls come, and then let go', async () => {
  const { memory, used } = openCallMemory(builtIn, UNUSED_MS);
  const first = read(memory);
  used();
  const held = remembered(memory);
  assert.ok(held >= 4, `${held}: the body and each of its messages`);
  for (let n = 0; n < 4; n++) {
    await sleep(UNUSED_MS / 4);
    used();
    assert.is(remembered(memory), held);
  }
  await eventually(() => remembered(memory) === 0);
  assert.equal(read(memory), first);
});

test.run();
