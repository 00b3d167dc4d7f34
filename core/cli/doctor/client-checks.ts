/** Where clients of this machine and environment send their calls: to the proxy, under the right prefix, or past it. */
import { join } from 'node:path';
import type { Environment } from '../../config/environment.ts';
import { baseAt, prefixIn } from '../../http/whose-call.ts';
import { type ProviderId, UPSTREAMS } from '../../provider/provider-ids.ts';
import { clientAddress } from '../client-address.ts';
import { jsonSettings, memberOf, settingsOrNone, textOf, tomlSettings } from '../start/harness/read-settings.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

export type ClientContext = {
  /** As `http://localhost:8080`. */
  proxy: string;
  api: string;
  ingest: string | null;
  /** The provider of bare paths. */
  provider: ProviderId;
  env: Environment;
  home: string;
};

/** An address that a client is pointed at. */
type Pointer = { where: string; value: string; provider: ProviderId };

export function clientChecks(context: ClientContext): Finding[] {
  const pointers = pointersOf(context);
  if (pointers.length > 0) return pointers.map((pointer) => checked(pointer, context));
  return [
    ok(
      'clients',
      "none is pointed anywhere by this environment or its settings; 'svc start claude' does it for one run",
    ),
  ];
}

const VARIABLES: readonly (readonly [string, ProviderId])[] = [
  ['ANTHROPIC_BASE_URL', 'anthropic'],
  ['OPENAI_BASE_URL', 'openai'],
  ['GOOGLE_GEMINI_BASE_URL', 'gemini'],
  ['OLLAMA_HOST', 'ollama'],
];

function pointersOf({ env, home }: ClientContext): Pointer[] {
  const claudeFile = join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.json');
  const claude = textOf(memberOf(settingsOrNone(jsonSettings, claudeFile), 'env', 'ANTHROPIC_BASE_URL'));
  const codexFile = join(env.CODEX_HOME || join(home, '.codex'), 'config.toml');
  const codex = settingsOrNone(tomlSettings, codexFile);
  const chosen = textOf(codex.model_provider);
  const codexBase =
    chosen === '' ? textOf(codex.openai_base_url) : textOf(memberOf(codex, 'model_providers', chosen, 'base_url'));
  const all: Pointer[] = [
    ...VARIABLES.map(([where, provider]) => ({ where, value: env[where] ?? '', provider })),
    { where: `ANTHROPIC_BASE_URL in ${claudeFile}`, value: claude, provider: 'anthropic' },
    { where: `base_url in ${codexFile}`, value: codexBase, provider: 'openai' },
  ];
  return all.filter(({ value }) => value.trim() !== '');
}

function checked({ where, value, provider }: Pointer, context: ClientContext): Finding {
  const { proxy, api, ingest, provider: bare } = context;
  const right = `${where.split(' ')[0]}=${baseAt(proxy, provider)}`;
  const check = 'clients';
  const address = clientAddress(value, provider);
  if (address === null) return fail(check, `${where} is no address`, right);
  const [host, path] = [hostOf(address), address.pathname.replace(/\/$/, '')];
  if (host === hostOf(new URL(api)))
    return fail(check, `${where} leads to the read API, which forwards nothing`, right);
  if (ingest !== null && host === hostOf(new URL(ingest)))
    return fail(check, `${where} leads to the ingest API, which forwards nothing`, right);
  if (host !== hostOf(new URL(proxy))) {
    if (host === hostOf(new URL(UPSTREAMS[provider])))
      return warn(check, `${where} is the provider's own address: its calls pass svc by`, right);
    return warn(
      check,
      `${where} leads to ${address.host}: unless that forwards to svc, its calls are not recorded`,
      right,
    );
  }
  if (address.protocol === 'https:' && new URL(proxy).protocol === 'http:')
    return fail(check, `${where} speaks https to the proxy, which speaks http`, right);
  const prefix = prefixIn(`${path}/`);
  if (prefix?.exact ? prefix.provider !== provider : bare !== provider)
    return fail(check, `${where} leads to ${prefix?.exact ? prefix.provider : bare} and not to ${provider}`, right);
  return ok(check, `${where} leads to the proxy`);
}

/** Names of the loopback interface are one. */
const hostOf = ({ host, protocol }: URL): string =>
  host.replace(/^(?:127\.0\.0\.1|\[::1\])(?=:|$)/, 'localhost') +
  (/:\d+$/.test(host) ? '' : protocol === 'https:' ? ':443' : ':80');
