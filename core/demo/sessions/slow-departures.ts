/** A query of four seconds for one harbour alone: no index fits it. A session of Codex, which speaks OpenAI's Responses. */
import { answers, asks, calls, type Script, thinking } from '../script.ts';
import { codexTools, exec } from '../tools.ts';

const SLOW_PLAN = `Limit  (cost=61877.20..61877.33 rows=50) (actual time=4102.551..4102.563 rows=50 loops=1)
  ->  Sort  (cost=61877.20..61902.95 rows=10300) (actual time=4102.549..4102.556 rows=50 loops=1)
        Sort Key: departs_at
        ->  Seq Scan on sailings  (cost=0.00..61535.00 rows=10300) (actual time=0.031..4017.882 rows=611204 loops=1)
              Filter: ((departs_at >= now()) AND (harbour = 'SKA'::text))
              Rows Removed by Filter: 1788796
Planning Time: 0.214 ms
Execution Time: 4102.618 ms`;

const FAST_PLAN = `Limit  (cost=0.43..28.91 rows=50) (actual time=0.038..0.117 rows=50 loops=1)
  ->  Index Scan using sailings_harbour_departs_at on sailings  (actual time=0.037..0.109 rows=50 loops=1)
        Index Cond: ((harbour = 'SKA'::text) AND (departs_at >= now()))
Planning Time: 0.301 ms
Execution Time: 0.146 ms`;

const MIGRATION = `mkdir -p migrations && cat > migrations/0042_index_sailings_by_harbour.sql <<'SQL'
-- Departures are always asked for by harbour and in order of time. Without a lock on writes, so outside a transaction.
create index concurrently if not exists sailings_harbour_departs_at on sailings (harbour, departs_at);
SQL
npm run --silent migrate && psql ferrybook -c 'analyze sailings'`;

export const slowDepartures: Script = {
  slug: 'slow-departures',
  wire: 'responses',
  minutes_ago: 1_130,
  agent: 'codex',
  harness: { id: 'codex', version: '0.61.0', cwd: '/home/dev/ferrybook' },
  model: 'gpt-5.1-codex',
  system: 'You are a coding agent running in a terminal. Be precise, safe and helpful.',
  preamble_tokens: 9_400,
  tools: codexTools,
  steps: [
    asks('GET /departures takes four seconds for the harbour Skala. For all others it is quick. Why?'),
    thinking(
      'One harbour being slow points to the data or to the plan rather than to the code. Look at the plan with the real parameter first.',
      calls(
        'I look at the query plan with the parameter that is slow.',
        exec(
          'psql ferrybook -c "explain analyze select id, departs_at from sailings where harbour = \'SKA\' and departs_at >= now() order by departs_at limit 50"',
          SLOW_PLAN,
          { seconds: 4.3 },
        ),
      ),
    ),
    calls(
      'It reads the whole table. Which indexes are there, and how are the rows spread over the harbours?',
      exec(
        'psql ferrybook -Atc "select indexdef from pg_indexes where tablename = \'sailings\'"',
        'CREATE UNIQUE INDEX sailings_pkey ON public.sailings USING btree (id)\nCREATE INDEX sailings_harbour ON public.sailings USING btree (harbour)',
      ),
      exec(
        "psql ferrybook -Atc 'select harbour, count(*) from sailings group by 1 order by 2 desc limit 4'",
        'SKA|742118\nLIM|61877\nPAT|48902\nKAM|40115',
        { seconds: 1.9 },
      ),
    ),
    thinking(
      'Skala has 31 % of the rows, so the planner rightly ignores an index on harbour alone: it would fetch and sort 600 000 rows. An index on (harbour, departs_at) gives the order for free and stops after 50 rows. The old one is then a prefix of it and can go later.',
      calls(
        'Skala holds 31 % of all sailings. For it the index on `harbour` alone saves nothing, so the planner scans the table and sorts 600,000 rows to show 50. An index on `(harbour, departs_at)` delivers them in order.',
        exec(MIGRATION, '0042_index_sailings_by_harbour.sql  applied  (5.8 s)\nANALYZE', { seconds: 7.4 }),
      ),
    ),
    calls(
      '',
      exec(
        'psql ferrybook -c "explain analyze select id, departs_at from sailings where harbour = \'SKA\' and departs_at >= now() order by departs_at limit 50"',
        FAST_PLAN,
        { seconds: 0.3 },
      ),
    ),
    answers(
      'Skala is slow because it is large: 742,118 of 2.4 million sailings. The only index was on `harbour`, which is no help when a third of the table matches, so PostgreSQL read all of it and sorted 611,204 rows to return 50.\n\nMigration `0042` adds an index on `(harbour, departs_at)`. The query went from 4,102 ms to 0.15 ms. The index is built concurrently, so nothing is locked when it is rolled out. `sailings_harbour` is now redundant; I left it in place.',
    ),
    asks('Does the second index slow the nightly import down? It inserts 80,000 rows.', 95),
    calls(
      'I measure it: the import of last night into a copy, with and without the new index.',
      exec(
        'createdb -T ferrybook import_check && for i in with without; do [ $i = without ] && psql -q import_check -c "drop index sailings_harbour_departs_at"; /usr/bin/time -f "$i: %e s" npm run --silent import -- --database import_check --dry-run; done; dropdb import_check',
        'with: 11.92 s\nwithout: 11.31 s',
        { seconds: 41 },
      ),
    ),
    answers(
      'Hardly: 11.9 s instead of 11.3 s for 80,000 rows, about 5 %. If you drop the redundant `sailings_harbour` you get most of that back. I would do so in a migration of its own, a week after this one, when you are sure that no other query relied on it.',
    ),
  ],
};
