/** One call stays open beside heavy traffic: the journal stays small, and the call is whole when it ends at last. */
import type { ServerResponse } from 'node:http';
import * as assert from 'uvu/assert';
import { namedEvents } from '../provider-streams.ts';
import { eventually, type Service } from '../serve.ts';
import { startUpstream } from '../upstream.ts';
import { journalBytes } from './full-journal.ts';
import { compare, type Figures, refusals, settled, storedTurns } from './kept.ts';
import { ask, type Call, newCall, startClients } from './load.ts';
import { assertLedger, pause } from './outage.ts';
import { faultStand, type StandOptions } from './stand.ts';

const BEAT_MS = 20;
const WAVE_SHARE = 1 / 8; // of the cap, passes before intake is waited for

export type LongFigures = Figures & { passedBytes: number; mostBytes: number };

/** @param passBytes of other traffic, several times the cap */
export async function openCallBesideTraffic(
  options: StandOptions,
  { maxBytes, passBytes }: { maxBytes: number; passBytes: number },
): Promise<LongFigures> {
  const slow = await slowProvider();
  const env = { SVC_JOURNAL_MAX_BYTES: String(maxBytes), SVC_PROXY_UPSTREAMS_OLLAMA: slow.url };
  const stand = await faultStand({ ...options, env });
  let service: Service | null = null;
  try {
    service = await stand.start();
    const long = newCall('the long one', 'stream', -1);
    const longCall = ask(`${service.proxy}/ollama`, long); // its upstream is the slow provider
    const calls: Call[] = [long];
    let mostBytes = 0;
    let passedBytes = 0;
    for (let wave = 0; passedBytes < passBytes; wave++) {
      const load = startClients(service, ['large', 'large', 'small'], wave);
      while (bytesOf(load.calls) < maxBytes * WAVE_SHARE) {
        await pause(5);
        mostBytes = Math.max(mostBytes, journalBytes(stand.folder));
      }
      await load.stop();
      passedBytes += bytesOf(load.calls);
      assert.is(await refusals(service), 0, `${passedBytes} bytes passed and one call is open: nothing is refused`);
      calls.push(...load.calls, await settled(service, 1_000_000 + wave));
      // what is stored is deleted in rounds; by the next wave only the long call may hold anything
      await eventually('the journal to shrink', async () => journalBytes(stand.folder) < maxBytes / 2);
    }
    assert.ok(mostBytes < maxBytes);
    slow.end();
    await longCall;
    calls.push(await settled(service, 2_000_000));
    const { missing, ...figures } = compare(calls, await storedTurns(service));
    assert.is(missing.length, 0, 'the long one is stored too');
    assert.is(figures.captured, calls.length);
    await assertLedger(service, { captured: calls.length });
    return { ...figures, passedBytes, mostBytes };
  } finally {
    slow.end();
    if (service) assert.is(await service.stop(), 0);
    await stand.close();
    await slow.close();
  }
}

const bytesOf = (calls: readonly Call[]): number =>
  calls.reduce((sum, { sent, heard }) => sum + sent.length + heard.reduce((all, { length }) => all + length, 0), 0);

/** Sends a piece of a message every few milliseconds, until `end` is called. */
async function slowProvider() {
  const message = { id: 'msg_long', type: 'message', role: 'assistant', model: 'm', content: [] };
  const usage = { input_tokens: 10, output_tokens: 1 };
  const send = (outgoing: ServerResponse, ...events: { type: string }[]) => outgoing.write(namedEvents(events));
  const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'and so on ' } };
  const open = new Map<ServerResponse, NodeJS.Timeout>();
  const end = () => {
    for (const [outgoing, timer] of open) {
      clearInterval(timer);
      send(
        outgoing,
        { type: 'content_block_stop', ...{ index: 0 } },
        { type: 'message_delta', ...{ delta: { stop_reason: 'end_turn' }, usage } },
        { type: 'message_stop' },
      );
      outgoing.end();
    }
    open.clear();
  };
  const upstream = await startUpstream([
    (_request, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
      const block = { index: 0, content_block: { type: 'text', text: '' } };
      send(outgoing, { type: 'message_start', ...{ message: { ...message, usage } } });
      send(outgoing, { type: 'content_block_start', ...block });
      open.set(
        outgoing,
        setInterval(() => send(outgoing, delta), BEAT_MS),
      );
    },
  ]);
  return { url: upstream.url, end, close: upstream.close };
}
