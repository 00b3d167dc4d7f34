/** An event's id comes back as the place it was made of; nothing else is taken for one. */
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { eventId, isKnownPlace, readEventId } from '../../../core/api/event-id.ts';
import { EVERYTHING } from '../../../core/db/read/session-changes.ts';
import { Refusal } from '../../../core/errors.ts';

const test = suite('eventId');

const snapshots = fc
  .tuple(fc.integer({ min: 3, max: 2 ** 31 }), fc.uniqueArray(fc.integer({ min: 0, max: 500 }), { maxLength: 20 }))
  .map(([xmin, running]) => {
    const xids = running.sort((one, other) => one - other).map((offset) => xmin + offset);
    return `${xmin}:${(xids.at(-1) ?? xmin) + 1}:${xids.join(',')}`;
  });
const rounds = fc
  .tuple(snapshots, fc.bigInt({ min: 3n, max: 2n ** 32n - 1n }), fc.uuid())
  .map(([towards, xid, session_id]) => ({ towards, changed_by: String(xid), session_id }));
const places = fc
  .tuple(fc.nat(), fc.nat(), snapshots, fc.option(rounds), fc.option(fc.nat()))
  .map(([database, table, seen, round, crossing]) => ({
    life: `${database}.${table}`,
    place: { seen, round },
    crossing,
  }));

test('what was written is read again', async () => {
  await fc.assert(fc.property(places, (at) => assert.equal(readEventId(eventId(at)), at)));
});

test('0 is the place before everything, whatever the database', () => {
  assert.equal(readEventId('0'), { life: '', place: EVERYTHING, crossing: null });
  assert.ok(isKnownPlace(readEventId('0'), { life: '5.1', seen: '800:800:' }));
});

test('what no event had as its id is refused', () => {
  const foreign = [
    '',
    '1',
    '-1',
    '0x0',
    'null',
    '1.2',
    '1.2/',
    '1.2/5:4:',
    '1.2/5:9:4',
    '1.2/5:9:9',
    '1.2/5:9:7,6',
    '1.2/5:9:7,',
    '1.2/0:9:',
    '1.2/4294967296:4294967299:',
    '1.2/5:18446744073709551616:',
    '1.2/5:99999999999999999999:',
    '1.2/5:9:/5:9:/7',
    '1.2/5:9:/5:9:/0/7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
    '1.2/5:9:/5:9:/7/7d1c9f9e',
    '1.2/5:9:/9:5:/7/7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
    '11111111111.2/5:9:',
    'WzEsIlNkMlgiLDEyXQ',
  ];
  for (const id of foreign) {
    assert.throws(
      () => readEventId(id),
      (thrown: unknown) => thrown instanceof Refusal && thrown.code === 'bad-request',
      id,
    );
  }
});

test('a place of another life, or ahead of the database, is not known', () => {
  const now = { life: '1.2', seen: '50:60:50' };
  const at = (id: string) => isKnownPlace(readEventId(id), now);
  assert.ok(at('1.2/40:60:40'));
  assert.not(at('1.3/40:60:40'));
  assert.not(at('1.2/40:61:40'));
  const key = '/7/7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10';
  assert.ok(at(`1.2/40:41:/50:60:50${key}`));
  assert.not(at(`1.2/40:41:/50:61:50${key}`));
});

test.run();
