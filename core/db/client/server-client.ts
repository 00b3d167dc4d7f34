/** Opens one connection to a server: values in text format both ways, parsed by `columnReaders`; no notices printed, no types fetched. */
import postgres from 'postgres';
import { dsnParts } from '../../config/dsn.ts';
import { columnReaders } from './wire-text.ts';

/** postgres.js supports `onnotify`, though it does not declare it. */
export type ClientOptions = postgres.Options<Record<string, never>> & {
  onnotify?: (channel: string, payload: string) => void;
};

export function client(dsn: string, options: ClientOptions): postgres.Sql {
  const opened = postgres(dsnParts(dsn).forDriver, {
    max: 1,
    fetch_types: false,
    connect_timeout: 10,
    max_lifetime: null,
    connection: { application_name: 'svc' },
    onnotice: () => {},
    ...options,
  });
  const { parsers, serializers } = opened.options as unknown as Record<string, Record<string, unknown>>;
  for (const oid of Object.keys(parsers ?? {})) delete parsers?.[oid];
  for (const oid of Object.keys(serializers ?? {})) delete serializers?.[oid];
  Object.assign(parsers ?? {}, columnReaders);
  return opened;
}

/** One server of several. */
export type ServerHost = { host: string; port: number };

/** The hosts of a DSN as the driver reads them, each as its options for that host alone. @throws what the driver does about a DSN */
export function hostsOf(dsn: string): ServerHost[] {
  const { host, port } = postgres(dsnParts(dsn).forDriver, { max: 1 }).options; // which connects at the first query
  return host.map((name, i) => ({ host: name, port: port[i] ?? 5432 }));
}
