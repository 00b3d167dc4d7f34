/** A light day's calls on a whole service, and what each of its processes holds in memory meanwhile. */
import * as assert from 'uvu/assert';
import { ledger } from './faults/kept.ts';
import { pause } from './faults/outage.ts';
import { faultStand, type StandOptions } from './faults/stand.ts';
import { type Growth, growthOf, type MemorySample, memoryOf } from './process-memory.ts';
import { echoOf } from './scripted-provider.ts';
import { eventually, read, type Service } from './serve.ts';

export type LightDay = { calls: number; everyMs: number };

type Message = { role: 'user' | 'assistant'; content: string };

const QUESTIONS = 12; // of a conversation
const PASTED_CHARACTERS = 6_000; // in each question, as a file that is pasted

/**
 * Conversations one after the other, and somebody who has the list of sessions open. The memory is looked at after each call.
 * @param report each sample, as soon as it is taken
 * @throws a call that was not answered, or is not captured
 */
export async function lightDay(
  options: StandOptions,
  { calls, everyMs }: LightDay,
  report: (sample: MemorySample) => void = () => {},
): Promise<Growth[]> {
  const stand = await faultStand(options);
  let service: Service | null = null;
  try {
    service = await stand.start({ SVC_CASSETTES_BUILT_IN: 'true' });
    const running = service;
    const samples: MemorySample[] = [];
    const began = Date.now();
    let messages: Message[] = [];
    for (let n = 0; n < calls; n++) {
      await pause(Math.max(0, began + n * everyMs - Date.now()));
      messages = await nextTurn(running, n % QUESTIONS === 0 ? [] : messages, n);
      await read(`${running.api}/v1/sessions`);
      const sample = { ms: Date.now() - began, processes: memoryOf(running.pid) };
      samples.push(sample);
      report(sample);
    }
    const { outcomes } = await eventually('every call to be counted', async () => {
      const found = await ledger(running);
      return found.requests >= calls && found;
    });
    assert.is(outcomes.captured, calls);
    return growthOf(samples);
  } finally {
    if (service) assert.is(await service.stop(), 0);
    await stand.close();
  }
}

/** Asks the next question of a conversation; every other answer is a stream. @returns the conversation with its answer */
async function nextTurn({ proxy }: Service, earlier: readonly Message[], n: number): Promise<Message[]> {
  const content = `${`Question ${n}. `.padEnd(PASTED_CHARACTERS, `line ${n}; `)}What is in it?`;
  const messages: Message[] = [...earlier, { role: 'user', content }];
  const response = await fetch(`${proxy}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 100, stream: n % 2 === 0, messages }),
  });
  assert.is(response.status, 200);
  await response.arrayBuffer();
  const questions = messages.filter(({ role }) => role === 'user').map((message) => message.content);
  return [...messages, { role: 'assistant', content: echoOf(questions.join(', then ')) }];
}
