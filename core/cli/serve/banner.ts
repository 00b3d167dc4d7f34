/** The banner for a newcomer: where the listeners are, where the data lies, and the line to paste for each kind of client. */
import pc from 'picocolors';
import type { LoadedConfig } from '../../config/load.ts';
import { harnesses } from '../../harness/harnesses.ts';
import { baseAt } from '../../http/whose-call.ts';
import { providers } from '../../provider/providers.ts';
import { shownAddress } from '../shown-address.ts';
import type { TranscriptsFound } from '../sync/offer.ts';
import { uiAddress } from '../ui-address.ts';
import { several } from '../units.ts';
import { whereData } from '../where-data.ts';
import type { LoneRole } from './role.ts';

export type BannerFacts = {
  role: 'all' | 'proxy';
  version: string;
  loaded: Pick<LoadedConfig, 'config' | 'folder'>;
  isTerminal: boolean;
  /** As `http://127.0.0.1:8080`, one for each host; none for what does not run. */
  proxy: readonly string[];
  api: readonly string[];
  ingest: readonly string[];
  internal: readonly string[];
};

/** The beginning, printed when the capture proxy takes calls. */
export function bannerStart({ role, version, loaded, isTerminal, ...at }: BannerFacts): string {
  const { config, folder } = loaded;
  const proxy = shown(at.proxy);
  const api = shown(at.api);
  const ui = role === 'all' ? uiAddress(api, config.api, isTerminal) : null;
  const internalPaths = role === 'all' ? `${PROBES}, /internal/readiness/evidence` : PROBES;
  return [
    `${pc.bold(`svc ${version}`)} is recording`,
    '',
    ...(ui === null ? [] : [row('web UI', ui)]),
    row('capture proxy', `${proxy}   ${pc.dim(`bare paths go to ${config.proxy.provider}`)}`),
    ...(role === 'all' ? [row('read API', `${api}   ${pc.dim('contract: /swagger')}`)] : []),
    ...(role === 'all' ? [row('ingest API', shown(at.ingest))] : []),
    ...(at.internal.length > 0 ? [row('internal', `${shown(at.internal)}   ${pc.dim(internalPaths)}`)] : []),
    row('data', whereData(config.storage.postgres_dsn, folder)),
    '',
    'Point a client at it:',
    ...harnesses.flatMap(({ start }) => (start ? row(start.name, start.line(proxy)) : [])),
    ...providers.flatMap(({ id, clients }) => clients(baseAt(proxy, id)).map(([name, line]) => row(name, line))),
    '',
  ].join('\n');
}

/** The end, printed when the read API responds; empty where there is none. */
export const bannerEnd = ({ role, loaded, api }: Pick<BannerFacts, 'role' | 'loaded' | 'api'>): string =>
  role === 'proxy'
    ? ''
    : [
        '',
        'Read the conversation back:',
        row('sessions', `curl ${loaded.config.api.token === '' ? '' : TOKEN}${shown(api)}/v1/sessions`),
        '',
      ].join('\n');

/** What is printed once, after the banner, where there are transcripts and none was ever sent. */
export const transcriptsOffer = ({ files, harnesses: names, isAll }: TranscriptsFound): string =>
  [
    '',
    `Earlier conversations are on this machine: ${isAll ? '' : 'at least '}${several(files, 'transcript')} of ${names.join(' and ')}.`,
    row('send them', `svc sync   ${pc.dim('harnesses delete old ones')}`),
    '',
  ].join('\n');

/** The banner of a role by itself; the row with its data is the last. */
export function roleBanner({
  role,
  version,
  loaded,
  isTerminal,
  ...at
}: Omit<BannerFacts, 'role'> & { role: LoneRole }): string {
  const { config, folder } = loaded;
  const ui = role === 'api' ? uiAddress(shown(at.api), config.api, isTerminal) : null;
  return [
    `${pc.bold(`svc ${version}`)} ${DOES[role]}`,
    '',
    ...(ui === null ? [] : [row('web UI', ui)]),
    ...(role === 'api' ? [row('read API', `${shown(at.api)}   ${pc.dim('contract: /swagger')}`)] : []),
    ...(role === 'ingest' ? [row('ingest API', shown(at.ingest))] : []),
    ...(at.internal.length > 0 ? [row('internal', `${shown(at.internal)}   ${pc.dim(PROBES)}`)] : []),
    row('data', whereData(config.storage.postgres_dsn, folder)),
    '',
  ].join('\n');
}

const DOES: Record<LoneRole, string> = {
  api: 'shows what is recorded',
  ingest: 'takes turns in',
  derive: 'derives sessions',
};

const PROBES = '/ping, /ready, /metrics';

/** The token's variable instead of its value, which must not be on a screen or in a scrollback. */
const TOKEN = '-H "authorization: Bearer $SVC_API_TOKEN" ';

const shown = (addresses: readonly string[]) => shownAddress(addresses[0] ?? '');

const row = (name: string, value: string) => `  ${pc.cyan(name.padEnd(15))} ${value}`;
