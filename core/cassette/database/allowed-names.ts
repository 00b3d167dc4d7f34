/** The names that a cassette's statement may use: functions, relations and types that reach beyond its own schema are refused. */
import { EXTENSIONS } from '../../db/cassette/names.ts';
import { refused } from './statement-refusals.ts';
import { nodesOf, type Seen, wordsOf } from './syntax-tree.ts';

/**
 * Refuses what the role's rights do not prevent, or prevent with an unhelpful message: sleeping, locks, notices, settings, files,
 * text that is run as SQL, and whatever shows the names of other cassettes, of roles or of settings.
 * @param own the cassette's schema @throws {DatabaseError}
 */
export function refuseReach(root: unknown, own: string): void {
  for (const seen of nodesOf(root)) {
    const { node } = seen;
    if ('intoClause' in node) throw refused('SELECT INTO makes a table, which only its migrations may');
    if ('relname' in node) refuseRelation(node, own);
    if ('funcname' in node) refuseFunction(wordsOf(node.funcname), own);
    if ('names' in node && 'typemod' in node) refuseType(wordsOf(node.names), own);
    if (isTemporary(seen)) throw refused('temporary tables are not for cassettes; keep rows in a table of its own');
  }
}

const isTemporary = ({ node }: Seen) => node.relpersistence === 't';

/** Those that are found without their schema, of PostgreSQL and of Citus. */
const SYSTEM_RELATIONS = /^(pg_|citus_|time_partitions$)/;

function refuseRelation({ catalogname, schemaname, relname }: Seen['node'], own: string): void {
  const name = String(relname);
  if (catalogname !== undefined) throw refused(`'${name}' names a database; leave that out`);
  if (schemaname === undefined) {
    if (SYSTEM_RELATIONS.test(name)) throw refused(`'${name}' is of the system, and not for cassettes`);
  } else if (schemaname !== own && schemaname !== 'svc_v1') {
    throw refused(foreign(`${schemaname}.${name}`, String(schemaname), own));
  }
}

function foreign(name: string, schema: string, own: string): string {
  if (/^pg_|^information_schema$/.test(schema)) return `'${name}' is of the system, and not for cassettes`;
  if (schema.startsWith('cassette_')) return `'${name}' belongs to another cassette; its own schema is '${own}'`;
  if (schema.startsWith('svc')) return `'${name}' belongs to the service; a cassette reads the views of svc_v1`;
  return `'${name}' is not its own; a cassette has its schema '${own}' and the views of svc_v1`;
}

/** Functions that are allowed although they begin with `pg_`. */
const HARMLESS_FUNCTIONS = /^pg_(typeof|column_size|size_pretty|size_bytes|collation_for)$/;

/** Of a distributed database, in PostgreSQL's own schema: they run text on the workers, change tables, and show what there is. */
const CITUS_FUNCTIONS = [
  '(citus|master|worker|coord_combine|cluster_clock)_.*|run_command_on_.*|(start|stop)_metadata_.*',
  '(alter|create|drop|dump|fix|isolate|lock|notify|rebalance|recover|remove|replicate|truncate|undistribute|update)_.*',
  'get_(all|colocated|current_transaction|global|missing|nodeid|rebalance|shard|snapshot)_.*|(broadcast|fetch|read)_intermediate_.*',
  '(assign|check)_distributed_.*|distributed_tables_.*|(authinfo|poolinfo)_valid|column_name_to_column|column_to_column_name',
  'relation_is_a_known_shard|role_exists|shard_name|time_partition_range',
];

const HARMFUL_FUNCTIONS = new RegExp(
  [
    'pg_.*', // sleep, advisory locks, notices, files, other backends, definitions of what it does not own
    'lo_.*|loread|lowrite', // large objects belong to no schema
    'set_config|current_setting|setseed',
    '.*_to_xml(schema|_and_xmlschema)?|ts_stat|ts_rewrite|dblink.*|xpath_table', // run text as a query
    '(to_)?reg(class|collation|config|database|dictionary|namespace|oper|operator|proc|procedure|role|type)(in|out|recv|send|mod)?',
    '(any[a-z]*|array|domain|enum|multirange|range|record)_(in|out|recv|send)', // take any type by its number
    '(col|obj|shobj)_description|format_type|oidvectortypes|(make)?acl.*|current_query',
    'has_.*_privilege|row_security_active|satisfies_hash_partition|amvalidate|postgresql_fdw_validator|txid_.*', // show other objects and roles
    'brin_(summarize|desummarize)_.*|gin_clean_pending_list',
    'inet_(client|server)_.*|binary_upgrade_.*|(fmgr|plpgsql)_.*|currtid2?',
    ...CITUS_FUNCTIONS,
  ]
    .map((pattern) => `^(${pattern})$`)
    .join('|'),
);

function refuseFunction(nameParts: readonly string[], own: string): void {
  const name = nameParts.at(-1) ?? '';
  const schema = nameParts.at(-2);
  if (nameParts.length > 2) throw refused(`'${nameParts.join('.')}' names a database; leave that out`);
  if (HARMFUL_FUNCTIONS.test(name) && !HARMLESS_FUNCTIONS.test(name))
    throw refused(`it calls ${name}, which a cassette may not`);
  if (schema !== undefined && ![own, EXTENSIONS, 'pg_catalog'].includes(schema)) {
    throw refused(
      `it calls ${schema}.${name}, and may call only PostgreSQL's own functions and those of its extensions`,
    );
  }
}

/** Types of the system that turn a number into the name of something. */
const NAMING_TYPES =
  /^_?(reg(class|collation|config|database|dictionary|namespace|oper|operator|proc|procedure|role|type)|aclitem)$/;
const HARMLESS_TYPES = /^_?pg_(lsn|snapshot)$/;

function refuseType(nameParts: readonly string[], own: string): void {
  const name = nameParts.at(-1) ?? '';
  const schema = nameParts.at(-2);
  if (NAMING_TYPES.test(name) || (/^_?pg_/.test(name) && !HARMLESS_TYPES.test(name))) {
    throw refused(`it uses the type ${name}, which a cassette may not`);
  }
  if (schema !== undefined && ![own, EXTENSIONS, 'pg_catalog', 'public'].includes(schema)) {
    throw refused(foreign(`${schema}.${name}`, schema, own));
  }
}
