-- Since when a budget has been watched with its limit. What is spent late raises an event for a period that has ended where the budget was
-- watched before that end; one that is new, or whose limit was changed, does not look back. (core/db/budget/crossings.ts)
create table svc.watched_budgets (
  budget    text primary key,               -- as in svc.budget_crossings
  limit_usd numeric not null,
  since     timestamptz not null default now()
);
