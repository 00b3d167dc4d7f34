import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { advance } from '../../../core/derive/advance.ts';
import { emptyState, type SessionState } from '../../../core/derive/state.ts';
import { restoredState, storedState } from '../../../core/derive/stored-state.ts';
import { answer, callTurns, SESSION, user } from '../../support/call-turn.ts';
import { generatedCalls } from '../../support/generated-calls.ts';

const test = suite('a stored state');

const throughJson = <T>(value: T): T => JSON.parse(JSON.stringify(value));
const read = (state: SessionState) => restoredState(throughJson(storedState(state)));

test('it is read as it was, whatever the session', async () => {
  await fc.assert(
    fc.property(generatedCalls({ maxLength: 40 }), (calls) => {
      let state = emptyState(SESSION);
      assert.equal(read(state), throughJson(state));
      for (const turn of callTurns(calls)) {
        state = advance(state, turn).state;
        assert.equal(read(state), throughJson(state));
      }
    }),
  );
});

test('one that an earlier build stored as a whole is read as well', () => {
  const [turn] = callTurns([{ at: 0, says: [user('hello')], answers: answer('hi') }]);
  if (!turn) throw new Error('Cannot fold: no call');
  const whole = throughJson(advance(emptyState(SESSION), turn).state);
  assert.equal(restoredState(whole), whole);
});

test('names that mean something to JavaScript are names', () => {
  const state = emptyState(SESSION);
  const model_calls = JSON.parse('{"__proto__": 2, "constructor": 1}');
  const harness_metadata = JSON.parse('{"__proto__": {}, "usage": []}');
  const named = { ...state, told: { ...state.told, harness_metadata }, totals: { ...state.totals, model_calls } };
  assert.is(JSON.stringify(read(named).totals.model_calls), '{"__proto__":2,"constructor":1}');
  assert.is(JSON.stringify(read(named).told.harness_metadata), '{"__proto__":{},"usage":[]}');
});

test('that of a short conversation is half as long', () => {
  const [turn] = callTurns([{ at: 0, says: [user('hello')], answers: answer('hi') }]);
  if (!turn) throw new Error('Cannot fold: no call');
  const { state } = advance(emptyState(SESSION), turn);
  assert.ok(JSON.stringify(storedState(state)).length < 0.6 * JSON.stringify(state).length);
});

test.run();
