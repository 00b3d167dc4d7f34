/** Attacks from a cassette and from clients beside calls that have to be kept. (At length: `npm run soak -- attacks`.) */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { attacksBesideLoad } from '../support/attacks/beside-load.ts';

/** Four times what the service has to hold at length. */
const STALL_MS = 1_000;
const GROWN_MIB = 2_000;

const test = suite('attacks beside load (embedded)');

test('no attack keeps others waiting, takes the memory, or costs a call that passes', async () => {
  const stalls: Record<string, number> = {};
  const figures = await attacksBesideLoad(
    { cluster: '' },
    { eachMs: 500, requestMs: 2_000, perSecond: 10 },
    (attack, { stallMs }) => {
      stalls[attack] = stallMs;
    },
  );
  const long = Object.entries(stalls).filter(([, ms]) => ms > STALL_MS);
  assert.equal(long, [], 'nobody waits for an answer for so long');
  assert.ok(figures.peakMib < figures.idleMib + GROWN_MIB, `${figures.idleMib} MiB became ${figures.peakMib} MiB`);
});

test.run();
