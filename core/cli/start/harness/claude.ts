/** Claude Code, as `svc start claude` runs it. */
import { join } from 'node:path';
import type { Environment } from '../../../config/environment.ts';
import { baseAt } from '../../../http/whose-call.ts';
import { UPSTREAMS } from '../../../provider/provider-ids.ts';
import type { Launch, StartContext, StartedHarness, Unrecorded } from './harness.ts';
import { otherAddress } from './provider-address.ts';
import { jsonSettings, memberOf, textOf } from './read-settings.ts';

const BASE = 'ANTHROPIC_BASE_URL';
const HEADERS = 'ANTHROPIC_CUSTOM_HEADERS';

export const claude: StartedHarness = {
  ...{ command: 'claude', name: 'Claude Code', harnessId: 'claude', launch },
  isOwnTranscript: (path, cwd) => path.split(/[\\/]/).includes(projectOf(cwd)),
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
  const { proxy, env, upstreams, envelope } = context;
  for (const [where, settings] of [['', env] as const, ...settingsOf(context)]) {
    const other = Object.entries(OTHER_WAYS).find(([variable]) => isOn(textOf(settings[variable])));
    if (other) return { unrecorded: `${other[0]}${where} sends its calls to ${other[1]}, which svc does not record` };
    const unrecorded = otherAddress(BASE + where, textOf(settings[BASE]), 'anthropic', context);
    if (unrecorded) return { unrecorded };
  }
  const isFirstParty = upstreams.anthropic === UPSTREAMS.anthropic;
  return {
    env: {
      [BASE]: baseAt(proxy, 'anthropic'),
      [HEADERS]: withHeaders(env[HEADERS], envelope),
      ...(isFirstParty && withoutLosses(env)),
    },
    args: [],
    hasEnvelope: true,
    remarks: [],
  };
}

/** Its settings files may set variables, which then outrank those of the process. */
function settingsOf({ env, cwd, home }: StartContext): [where: string, env: Environment][] {
  const own = env.CLAUDE_CONFIG_DIR || join(home, '.claude');
  const files = [
    join(own, 'settings.json'),
    join(cwd, '.claude/settings.json'),
    join(cwd, '.claude/settings.local.json'),
  ];
  return files.map((file) => [` in ${file}`, (memberOf(jsonSettings(file), 'env') ?? {}) as Environment]);
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
