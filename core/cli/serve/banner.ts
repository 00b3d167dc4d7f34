/** The banner for a newcomer: where the listeners are, where the data lies, and the line to paste for each kind of client. */
import pc from 'picocolors';
import { harnesses } from '../harness/harnesses.ts';
import { baseAt } from '../http/whose-call.ts';
import { providers } from '../provider/providers.ts';

export type BannerFacts = {
  version: string;
  proxy: string; // http://localhost:8080
  ui: string | null; // the address to open; null: there is none
  api: string;
  wantsToken: boolean; // of the read API
  ingest: string;
  internal?: string | undefined; // undefined: there is none
  data: string; // where the turns are stored, without credentials
  provider: string; // of the proxy's bare paths
};

export const banner = ({
  version,
  proxy,
  ui,
  api,
  wantsToken,
  ingest,
  internal,
  data,
  provider,
}: BannerFacts): string =>
  [
    `${pc.bold(`svc ${version}`)} is recording`,
    '',
    ...(ui === null ? [] : [row('web UI', ui)]),
    passing(proxy, provider),
    row('read API', `${api}   ${pc.dim('contract: /swagger')}`),
    row('ingest API', ingest),
    ...(internal ? [row('internal', `${internal}   ${pc.dim('/internal/readiness/evidence')}`)] : []),
    row('data', data),
    '',
    ...clients(proxy),
    '',
    'Read the conversation back:',
    row('sessions', `curl ${wantsToken ? TOKEN : ''}${api}/v1/sessions`),
    '',
  ].join('\n');

/** The banner of the ingest API alone. */
export const ingestBanner = ({ version, ingest, data }: Pick<BannerFacts, 'version' | 'ingest' | 'data'>): string =>
  [`${pc.bold(`svc ${version}`)} takes turns in`, '', row('ingest API', ingest), row('data', data), ''].join('\n');

/** The banner of the capture proxy alone. */
export const proxyBanner = ({
  version,
  proxy,
  internal,
  data,
  provider,
}: Omit<BannerFacts, 'ui' | 'api' | 'wantsToken' | 'ingest'>): string =>
  [
    `${pc.bold(`svc ${version}`)} is recording`,
    '',
    passing(proxy, provider),
    ...(internal ? [row('internal', `${internal}   ${pc.dim('/ping, /metrics')}`)] : []),
    row('data', data),
    '',
    ...clients(proxy),
    '',
  ].join('\n');

/** The token's variable instead of its value, which must not be on a screen or in a scrollback. */
const TOKEN = '-H "authorization: Bearer $SVC_API_TOKEN" ';

const passing = (proxy: string, provider: string) =>
  row('capture proxy', `${proxy}   ${pc.dim(`bare paths go to ${provider}`)}`);

const clients = (proxy: string) => [
  'Point a client at it:',
  ...harnesses.flatMap(({ start }) => (start ? row(start.name, start.line(proxy)) : [])),
  ...providers.flatMap(({ id, clients }) => clients(baseAt(proxy, id)).map(([name, line]) => row(name, line))),
];

const row = (name: string, value: string) => `  ${pc.cyan(name.padEnd(15))} ${value}`;
