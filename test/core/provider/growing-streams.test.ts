/** A stream whose every event tells something new takes time in proportion to its length. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { anthropicMessages } from '../../../core/provider/anthropic-messages.ts';
import type { WireFormat } from '../../../core/provider/format.ts';
import { gemini as geminiProvider } from '../../../core/provider/gemini.ts';
import { openaiResponses } from '../../../core/provider/openai-responses.ts';

const test = suite('growing streams');

const EVENTS = 20_000;
const [gemini] = geminiProvider.formats;

const streams: { format: WireFormat; what: string; event(n: number): object }[] = [
  {
    format: anthropicMessages,
    what: 'usage',
    event: (n) => ({ type: 'message_delta', delta: {}, usage: { [`count_${n}`]: n } }),
  },
  {
    format: openaiResponses,
    what: 'response',
    event: (n) => ({ type: 'response.in_progress', response: { [`member_${n}`]: n } }),
  },
  { format: gemini, what: 'chunk', event: (n) => ({ [`member_${n}`]: n }) },
  { format: gemini, what: 'usage', event: (n) => ({ usageMetadata: { [`count_${n}`]: n } }) },
];

for (const { format, what, event } of streams)
  test(`${format.id}: ${EVENTS} events that each add a member to the ${what} are read in linear time`, () => {
    const body = Array.from({ length: EVENTS }, (_, n) => `data: ${JSON.stringify(event(n))}\n\n`).join('');
    const from = process.cpuUsage();
    format.reply(Buffer.from(body), 'text/event-stream');
    const { user } = process.cpuUsage(from);
    assert.ok(user < 4_000_000, `${user} µs`); // a tenth of a second; copying what came before at each event took twenty
  });

test.run();
