-- What sessions cost that retention or a purge removed: it was spent, so budgets count it, while stats are those of what is stored. Of a
-- session whose removal is under way the whole is here from the beginning, and its cells do not count for budgets any more. Rows of before
-- last month are deleted: no budget looks that far back. (core/db/budget/removed-spend.ts)
create table svc.removed_spend (
  day            date not null,             -- svc.day_of, as in svc.stat_days
  project_digest bytea not null,            -- svc.project_digest: a purge leaves no name
  cost_usd       numeric not null,
  primary key (day, project_digest)
);

create function svc.project_digest(project text) returns bytea language sql stable
return sha256(convert_to(project, 'UTF8'));

-- Of the removals that are under way.
insert into svc.removed_spend (day, project_digest, cost_usd)
select c.day, svc.project_digest(c.project), sum(c.cost_usd)
  from svc.session_removals m
  join svc.stat_cells c on c.session_id = m.session_id
 where c.cost_usd > 0
 group by 1, 2;
