/** An agent that reads a turn takes a place among the readers of payloads, and is told when there is none. */
import * as assert from 'uvu/assert';
import { coreTools } from '../../../../core/api/mcp/core-tools.ts';
import { payloadSlots } from '../../../../core/http/payload-reads.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { posted, rpc } from '../../../support/mcp.ts';
import { idOf, insertSessions, insertSpans, insertTraces } from '../../../support/projection-rows.ts';
import { type Json, testApi } from '../../../support/read-api.ts';

const REFUSED = 'Cannot read payloads now: too many readers take some; ask again';

databaseSuite('places of MCP readers', (test, database) => {
  test.before(async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await insertTraces(database(), [{ n: 1, session: 1, span_count: 1 }]);
    await insertSpans(database(), [{ n: 1, trace: 1, session: 1 }]);
  });
  const trace_id = idOf('trace', 1);
  const span_id = idOf('span', 1);

  test('a turn is read in a place, which is given back however the reading ends', async () => {
    const seen: string[] = [];
    const takePlace = async () => {
      seen.push('taken');
      return () => void seen.push('left');
    };
    const failing = { execute: database().execute, fails: '' };
    const execute = ((name: string, args: never) =>
      name === failing.fails
        ? Promise.reject(new Error('no'))
        : failing.execute(name as never, args)) as typeof failing.execute;
    const tool = coreTools({ execute, now: () => 0, takePlace }).find(({ name }) => name === 'svc_trace');
    assert.ok(tool);
    const caller = { signal: new AbortController().signal };
    await tool.call({ trace_id }, caller);
    await tool.call({ trace_id, span_id }, caller);
    failing.fails = 'spansOf';
    await tool.call({ trace_id }, caller).then(
      () => assert.unreachable(),
      () => {},
    );
    await tool.call({ trace_id, span_id: idOf('span', 9) }, caller).then(
      () => assert.unreachable(),
      () => {},
    );
    assert.equal(seen, Array.from({ length: 4 }, () => ['taken', 'left']).flat());
  });

  test('without a place the tool says so, and to ask again', async () => {
    const takePlace = payloadSlots(1, { waitMs: 20 });
    const tool = coreTools({ execute: database().execute, now: () => 0, takePlace }).find(
      ({ name }) => name === 'svc_trace',
    );
    assert.ok(tool);
    const caller = { signal: new AbortController().signal };
    const leave = await takePlace();
    const refused = await tool.call({ trace_id }, caller).catch((thrown: Error) => thrown.message);
    assert.is(refused, REFUSED);
    leave();
    assert.ok((await tool.call({ trace_id }, caller)).text.includes(trace_id));
  });

  test('agents and the readers of whole documents share the places, and an agent that got none may go on', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { execute } = database();
    const slow = (async (name: string, args: never) => {
      if (name === 'readSpan') await held;
      return execute(name as never, args);
    }) as typeof execute;
    const app = testApi({ execute: slow });
    const readers = Array.from({ length: 8 }, () => app.request(`/v1/traces/${trace_id}/spans/${span_id}`));
    const callTool = async (): Promise<Json> =>
      (await app.request('/v1/mcp', posted(rpc('tools/call', { name: 'svc_trace', arguments: { trace_id } })))).json();
    const { result } = await callTool();
    assert.equal([result.isError, result.content[0].text], [true, REFUSED]);
    release();
    for (const reader of readers) assert.is((await reader).status, 200);
    assert.not.ok((await callTool()).result.isError);
  });
});
