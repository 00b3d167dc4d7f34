-- Since when a budget has been watched with a limit. What is spent late raises an event for a period that has ended where the budget was
-- watched before that end; one that is new, or whose limit was changed, does not look back. (core/db/budget/crossings.ts)
create table svc.watched_budgets (
  budget    text not null,                  -- as in svc.budget_crossings
  limit_usd numeric not null,
  since     timestamptz not null default now(),
  primary key (budget, limit_usd)           -- of several processes each may have a limit of its own
);

-- The same as in svc.removed_spend, of each call that has a name, so that a call which comes back, by the transcript of its session or of
-- another one that holds it too, is taken out there and counts once. (core/db/budget/removed-spend.ts)
create table svc.removed_calls (
  call_key       bytea not null,            -- as in svc.calls and svc.transcript_claims
  day            date not null,             -- these as in svc.removed_spend
  project_digest bytea not null,
  cost_usd       numeric not null,
  primary key (call_key, day, project_digest)
);
create index removed_calls_by_day on svc.removed_calls (day);
