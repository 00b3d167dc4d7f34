/** Claude Code, as `svc start claude` runs it. */
import type { Environment } from '../../../config/environment.ts';
import { baseAt } from '../../../http/whose-call.ts';
import { UPSTREAMS } from '../../../provider/provider-ids.ts';
import { type ClaudeSettings, claudeArgument, claudeFiles, managedClaudeFiles } from './claude-settings.ts';
import type { Launch, StartContext, StartedHarness, Unrecorded } from './harness.ts';
import { otherAddress } from './provider-address.ts';
import { textOf } from './read-settings.ts';

const BASE = 'ANTHROPIC_BASE_URL';
const HEADERS = 'ANTHROPIC_CUSTOM_HEADERS';

export const claude: StartedHarness = {
  ...{ command: 'claude', name: 'Claude Code', harnessId: 'claude', launch },
  isOwnTranscript: (path, { cwd }) => path.split(/[\\/]/).includes(projectOf(cwd)),
};

/** Its folder of transcripts is called after the one in which it runs. */
const projectOf = (cwd: string) => cwd.replace(/[^A-Za-z0-9]/g, '-');

/** Its other ways to a model, which lead past the Anthropic API. */
const OTHER_WAYS: Readonly<Record<string, string>> = {
  CLAUDE_CODE_USE_BEDROCK: 'Amazon Bedrock',
  CLAUDE_CODE_USE_MANTLE: 'Amazon Bedrock',
  CLAUDE_CODE_USE_VERTEX: 'Google Vertex AI',
  CLAUDE_CODE_USE_FOUNDRY: 'Azure AI Foundry',
  CLAUDE_CODE_USE_ANTHROPIC_AWS: 'the Claude Platform on AWS',
  CLAUDE_CODE_USE_GATEWAY: 'a gateway of its own',
};

function launch(context: StartContext): Launch | Unrecorded {
  const files = claudeFiles(context);
  const argument = claudeArgument(context);
  const managed = managedClaudeFiles(context);
  const process = { where: '', env: context.env };
  const own = [process, ...files, ...(argument ? [argument] : [])];
  const unrecorded =
    [...own, ...managed].map((settings) => otherWay(settings, context)).find((reason) => reason !== null) ??
    outranking(managed, context);
  if (unrecorded) return { unrecorded };
  const setting = own.slice(1).find(({ env }) => env[BASE] !== undefined || env[HEADERS] !== undefined);
  if (setting && argument) {
    const variable = setting.env[BASE] === undefined ? HEADERS : BASE;
    return {
      unrecorded: `${variable}${setting.where} outranks the environment, and your own --settings leave no place for those of svc`,
    };
  }
  const variables = {
    [BASE]: baseAt(context.proxy, 'anthropic'),
    [HEADERS]: withHeaders(own.findLast(({ env }) => env[HEADERS] !== undefined)?.env[HEADERS], context.envelope),
  };
  const isFirstParty = context.upstreams.anthropic === UPSTREAMS.anthropic;
  return {
    env: { ...variables, ...(isFirstParty && withoutLosses(context.env)) },
    // in a file: headers may be secret, and arguments are shown to every user of the machine
    args: setting ? ['--settings', context.writeFile('settings.json', JSON.stringify({ env: variables }))] : [],
    hasEnvelope: managed.every(({ env }) => env[HEADERS] === undefined),
    remarks: [],
  };
}

/** Why calls with these variables would be lost. Null: they would not. */
function otherWay({ where, env }: ClaudeSettings, context: StartContext): string | null {
  const other = Object.entries(OTHER_WAYS).find(([variable]) => isOn(textOf(env[variable])));
  if (other) return `${other[0]}${where} sends its calls to ${other[1]}, which svc does not record`;
  return otherAddress(BASE + where, textOf(env[BASE]), 'anthropic', context);
}

/** Why calls go past svc wherever it points them: an administrator has set their address. Null: they do not, or that address is svc's. */
function outranking(managed: readonly ClaudeSettings[], { proxy }: StartContext): string | null {
  const fixed = managed.findLast(({ env }) => env[BASE] !== undefined);
  if (!fixed || textOf(fixed.env[BASE]).replace(/\/+$/, '') === baseAt(proxy, 'anthropic')) return null;
  return `${BASE}${fixed.where} outranks what svc sets`;
}

/**
 * With a base URL that is not Anthropic's it leaves out the search for tools, the window of a million tokens and more, since a gateway
 * might not pass them on. The proxy does: it forwards every byte to Anthropic. The first variable brings all of it back, and is undocumented;
 * the second one is documented, for the search for tools alone.
 */
const withoutLosses = (env: Environment): Record<string, string> =>
  Object.fromEntries(RESTORING.filter(([variable]) => env[variable] === undefined));

const RESTORING = [
  ['_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL', '1'],
  ['ENABLE_TOOL_SEARCH', 'true'],
] as const;

/** One header a line, after the person's own. */
const withHeaders = (own: string | undefined, headers: Readonly<Record<string, string>>): string =>
  [...(own ? [own] : []), ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join('\n');

const isOn = (value: string | undefined) => ['1', 'true', 'yes', 'on'].includes((value ?? '').trim().toLowerCase());
