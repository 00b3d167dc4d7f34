/** Opens one connection to a server: values in text format both ways, parsed by `columnReaders`; no notices printed, no types fetched. */
import postgres from 'postgres';
import { columnReaders } from './wire-text.ts';

/** postgres.js supports `onnotify`, though it does not declare it. */
type ClientOptions = postgres.Options<Record<string, never>> & {
  onnotify?: (channel: string, payload: string) => void;
};

export function client(dsn: string, options: ClientOptions): postgres.Sql {
  const opened = postgres(dsn, {
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
