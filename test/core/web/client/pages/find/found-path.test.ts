import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { FindHit } from '../../../../../../core/model/find.ts';
import { findQuery, sessionFilters } from '../../../../../../core/web/client/pages/find/find-filters.ts';
import { bySession, foundPath, snippet } from '../../../../../../core/web/client/pages/find/found-path.ts';

const test = suite('hits of Find');
const match = (start: number, rest: Partial<FindHit['matches'][number]> = {}): FindHit['matches'][number] => ({
  ...{ side: 'output', block: 0, start, end: start + 4, before: 'before ', match: 'word', after: ' after' },
  ...rest,
});
const hit = (session_id: string, rest: Partial<FindHit> = {}): FindHit => ({
  ...{ session_id, trace_id: 't', span_id: '1d3b5e6f-7081-5293-a4b5-c6d7e8f90112', raw_turn_id: 1, title: null },
  ...{ kind: 'llm', name: 'm', model: 'm', status: 'ok', at: '2026-07-27T09:30:00.123456Z', place: 'conversation' },
  ...{ score: 1, matches: [match(0)] },
  ...rest,
});
const queryOf = (path: string) => Object.fromEntries(new URLSearchParams(path.split('?')[1]));

test('the address shows the session with the text looked for in it, at the place', () => {
  assert.equal(queryOf(foundPath(hit('s'), 'WORD')), {
    ...{ span: '1d3b5e6f-7081-5293-a4b5-c6d7e8f90112', q: 'WORD', hit: '1d3b5e6f.output.0.0.4' },
  });
});

test('of several words the one that was found is looked for there, and system prompts only where it is in one', () => {
  const { q, in: places } = queryOf(foundPath(hit('s', { place: 'prompt' }), 'some word'));
  assert.is(q, 'word');
  assert.is(places, 'prompt');
});

test('sessions come in the order of their best hit', () => {
  const groups = bySession([hit('b'), hit('a'), hit('b')]);
  assert.equal(
    groups.map(([id, hits]) => [id, hits.length]),
    [
      ['b', 2],
      ['a', 1],
    ],
  );
});

test('matches near each other are one piece of text, others have a gap between them', () => {
  const text = (matches: FindHit['matches']) =>
    snippet(matches)
      .map(({ text, found }) => (found ? `[${text}]` : text))
      .join('');
  assert.is(
    text([match(10, { after: ' and word\nagain' }), match(19, { after: ' again' })]),
    'before [word] and [word] again',
  );
  assert.is(text([match(0), match(500)]), 'before [word] after … before [word] after');
  assert.is(text([match(0), match(6, { side: 'input' })]), 'before [word] after … before [word] after');
});

test('the address of the page is the query of the route, and sessions get the filters that they know', () => {
  const query = new URLSearchParams('q=+a%2Bb+&in=tools&tool=Bash&status=error&project=x&span=1&since=');
  assert.is(findQuery(query), 'text=a%2Bb&in=tools&project=x&tool=Bash&status=error');
  assert.is(findQuery(new URLSearchParams('in=tools')), '');
  assert.is(sessionFilters(query).toString(), 'project=x');
});

test.run();
