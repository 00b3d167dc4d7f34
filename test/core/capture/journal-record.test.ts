import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KIND, MAGIC, magicOf, type RecordKind, recordAt, recordOf } from '../../../core/capture/journal-record.ts';

const test = suite('journal record');
const kinds = fc.constantFrom<RecordKind[]>(...Object.values(KIND));
const numbers = fc.oneof(fc.nat(), fc.maxSafeNat());

test('the layout on disk', () => {
  const record = recordOf(KIND.requestBytes, 0x1_0000_0002, Buffer.from('abc'));
  assert.is(record.toString('hex'), `03000000${record.subarray(4, 8).toString('hex')}020200000001000000616263`);
  assert.is(Buffer.from(MAGIC).toString('hex'), '5356434a524e4c01');
});

test('a record is read as it was written', () => {
  void fc.assert(
    fc.property(kinds, numbers, fc.uint8Array({ maxLength: 300 }), (kind, call, payload) => {
      const bytes = Buffer.concat([Buffer.from('before'), recordOf(kind, call, payload), Buffer.from('behind')]);
      const found = recordAt(bytes, 6, bytes.length);
      assert.equal(found, { kind, call, payload_at: 23, end: 23 + payload.length });
    }),
  );
});

test('one that is cut is short, one with a flipped bit is no record', () => {
  void fc.assert(
    fc.property(
      kinds,
      numbers,
      fc.uint8Array({ maxLength: 40 }),
      fc.nat(),
      fc.nat(7),
      (kind, call, payload, where, bit) => {
        const record = recordOf(kind, call, payload);
        for (let end = 0; end < record.length; end++) assert.is(recordAt(record, 0, end), 'short');
        const at = where % record.length;
        record[at] = (record[at] ?? 0) ^ (1 << bit);
        assert.type(recordAt(record, 0, record.length), 'string');
      },
    ),
  );
});

test('zeros, which a loss of power leaves behind, are no record', () => {
  assert.is(recordAt(Buffer.alloc(64), 0, 64), 'damaged');
});

test('whose segment it is', () => {
  assert.is(magicOf(MAGIC), 'ours');
  assert.is(magicOf(MAGIC.subarray(0, 5)), 'torn');
  assert.is(magicOf(Buffer.from('SVCJRNL\x02', 'latin1')), 'other-version');
  assert.is(magicOf(Buffer.from('#!/bin/sh')), 'foreign');
});

test.run();
