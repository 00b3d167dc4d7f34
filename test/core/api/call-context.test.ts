/** GET /v1/raw_turns/{raw_turn_id}/context and …/blocks/{n}, over recorded calls. */
import * as assert from 'uvu/assert';
import { PROMPT_SECTIONS } from '../../../core/model/cache-break.ts';
import { BlockContent, CallContext } from '../../../core/model/call-context.ts';
import { appliedChanges } from '../../support/applied-changes.ts';
import { databaseSuite } from '../../support/databases.ts';
import { testApi } from '../../support/read-api.ts';
import { recordedSession } from '../../support/recorded-session.ts';
import { valueAtPath } from '../../support/value-at-path.ts';

databaseSuite('the context of a call', (test, database) => {
  const ask = (path: string) => testApi({ execute: database().execute }).request(`/v1/raw_turns/${path}`);
  const contextOf = async (path: string): Promise<CallContext> => {
    const response = await ask(path);
    assert.is(response.status, 200, path);
    return CallContext.parse(await response.json());
  };
  let ids: number[] = [];

  test.before(async () => {
    if (!(await recordedSession(database()))) return;
    const rows = await database().sql(
      "select raw_turn_id from svc.raw_turns where source = 'wire' order by requested_at",
    );
    ids = rows.map(({ raw_turn_id }) => Number(raw_turn_id));
  });

  test('its tokens add up to what was billed, and its blocks are the parts of the request', async () => {
    for (const id of ids) {
      const { blocks, usage, unattributed_tokens, window_tokens } = await contextOf(`${id}/context`);
      const total = blocks.reduce((sum, { tokens }) => sum + (tokens ?? 0), unattributed_tokens);
      assert.is(total, usage?.input_tokens);
      assert.ok(blocks.every(({ span, since, billed_as }) => span && since && billed_as));
      assert.is(window_tokens, 1_000_000);
      const places = blocks.map(({ section }) => PROMPT_SECTIONS.indexOf(section));
      assert.equal(places, [...places].sort());
      const request: unknown = await (await ask(`${id}/request?as=decoded`)).json();
      for (const { n, path, id: block_id } of [...blocks.slice(0, 2), ...blocks.slice(-3)]) {
        const block = BlockContent.parse(await (await ask(`${id}/blocks/${n}`)).json());
        assert.equal([block.n, block.id, block.path, block.exact], [n, block_id, path, true]);
        assert.equal(block.json, valueAtPath(request, path));
      }
    }
  });

  test('the changes, applied to the blocks of the call before, give those of the call', async () => {
    for (const [before, after] of ids.slice(1).map((id, i) => [ids[i] ?? 0, id] as const)) {
      const { against, blocks } = await contextOf(`${after}/context?against=${before}`);
      assert.is(against?.raw_turn_id, before);
      if (!against) continue;
      const identities = (list: readonly { id: string }[]) => list.map(({ id }) => id);
      assert.equal(appliedChanges(identities(against.blocks), identities(blocks), against.changes), identities(blocks));
      assert.equal(identities(against.blocks.slice(0, against.common)), identities(blocks.slice(0, against.common)));
    }
  });

  test('the earlier call with the longest common beginning is the one before it; or none, where none was asked for', async () => {
    if (ids.length === 0) return;
    const last = await contextOf(`${ids.at(-1)}/context`);
    assert.is(last.against?.raw_turn_id, ids.at(-2));
    assert.is(last.against?.common, last.against?.blocks.length);
    assert.ok(last.against?.changes.every(({ op }) => op === 'add'));
    assert.ok(last.parameters.every(({ same }) => same === true));
    assert.equal([...new Set(last.marks.map(({ ttl }) => ttl))], ['1h']);
    const alone = await contextOf(`${ids.at(-1)}/context?against=none`);
    assert.is(alone.against, null);
    assert.ok(alone.parameters.every(({ same }) => same === null));
    assert.is((await contextOf(`${ids[0]}/context`)).against, null);
  });

  test('what cannot be shown is refused with the reason', async () => {
    if (ids.length === 0) return;
    const refused = async (path: string) => {
      const response = await ask(path);
      return [response.status, ((await response.json()) as { code: string }).code];
    };
    assert.equal(await refused('999999/context'), [404, 'raw-turn-unknown']);
    assert.equal(await refused('999999/blocks/0'), [404, 'raw-turn-unknown']);
    assert.equal(await refused(`${ids[0]}/context?against=999999`), [404, 'raw-turn-promptless']);
    assert.equal(await refused(`${ids[0]}/context?against=x`), [400, 'bad-request']);
    assert.equal(await refused(`${ids[0]}/blocks/4000`), [404, 'block-unknown']);
    assert.equal(await refused(`${ids[0]}/blocks/-1`), [404, 'route-unknown']);
  });
});
