-- For statements that join links with a table of the coordinator, as svc.fork_links reads: see core/db/distribute/README.md.
create view svc.all_span_links as select * from svc.span_links;
