/** A check that everything the log refers to exists: every turn is rebuilt and compared with its digests, and the slices of nodes exist. */
import * as assert from 'uvu/assert';
import { sliceId } from '../../core/capture/slice-codec.ts';
import type { TestDatabase } from './databases.ts';

/** @returns how many turns there are */
export async function assertWhole(database: TestDatabase): Promise<number> {
  const turns = await database.sql(
    `select raw_turn_id, encode(request_digest, 'hex') as request_digest, encode(response_digest, 'hex') as response_digest
       from svc.raw_turns`,
  );
  for (const { raw_turn_id, request_digest, response_digest } of turns) {
    const bytes = await database.execute('rawTurnBytes', { raw_turn_id: raw_turn_id as number });
    assert.is(sliceId(bytes?.request ?? new Uint8Array()), request_digest);
    assert.is(bytes?.response ? sliceId(bytes.response) : null, response_digest);
  }
  const [lost] = await database.sql(`select count(*) as nodes from svc.nodes n
    where n.slice_id is not null and not exists (select from svc.all_slices s where s.slice_id = n.slice_id)`);
  assert.is(Number(lost?.nodes), 0, 'nodes whose message is gone');
  return turns.length;
}
