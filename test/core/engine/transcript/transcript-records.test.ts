/** An upload is read as JSON.parse reads it, record by record. */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { recordsIn, uploadBody } from '../../../../core/engine/transcript/transcript-records.ts';

const read = (text: string) => {
  const body = Buffer.from(text);
  const upload = uploadBody(body);
  return upload && { document: upload.document, records: [...recordsIn(body, upload)] };
};

const test = suite('records of a transcript upload');

test('whatever the records and the members beside them are, they are read as a parser reads them', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()), (records, rest) => {
      const document = JSON.parse(JSON.stringify({ ...rest, records })) as Record<string, unknown>;
      const found = read(JSON.stringify(document));
      assert.equal(found?.records, document.records);
      assert.equal(found?.document, { ...document, records: [] });
    }),
  );
});

test('a byte order mark is read over, and of a key that stands twice the last one counts', () => {
  assert.equal(read('\ufeff{"records":[1],"a":1}'), { document: { records: [], a: 1 }, records: [1] });
  assert.equal(read('{"records":[1],"records":[2,3]}')?.records, [2, 3]);
});

test('records that are no array stay in the document, for whoever checks it', () => {
  assert.equal(uploadBody(Buffer.from('{"records":{"a":1}}'))?.document, { records: { a: 1 } });
  assert.equal(read('{}'), { document: {}, records: [] });
});

test('one that is nested too deep is the text that it is', () => {
  const nested = (depth: number) => `${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`;
  assert.equal(read(`{"records":[${nested(514)},1]}`)?.records, [nested(514), 1]);
  assert.type(read(`{"records":[${nested(512)}]}`)?.records[0], 'object');
  const abyss = '['.repeat(200_000) + ']'.repeat(200_000);
  assert.equal(read(`{"records":[${abyss},"b"]}`)?.records, [abyss, 'b']);
});

test('what is no JSON object is none; a broken record is told when it is come to', () => {
  for (const text of ['', '[]', 'null', '{', '{"a":}', '{"records":[1],"a":tru}']) assert.is(read(text), null, text);
  assert.throws(() => read('{"records":[1,tru]}'));
  const body = Buffer.from('{"records":[{"a":1},tru]}');
  const upload = uploadBody(body);
  assert.equal(upload && recordsIn(body, upload).next().value, { a: 1 });
});

test.run();
