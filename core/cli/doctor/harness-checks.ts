/** What harnesses do by themselves that a person should know: features that a base URL turns off, logins that pass svc by, transcripts that they delete. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../config/environment.ts';
import { jsonSettings, memberOf, settingsOrNone, textOf } from '../start/harness/read-settings.ts';
import { type Finding, warn } from './finding.ts';

type Person = { env: Environment; home: string };

export const harnessChecks = (person: Person): Finding[] => [
  ...claudeFeatures(person),
  ...claudeTranscripts(person),
  ...codexLogin(person),
  ...geminiTranscripts(person),
];

/** (proxy/README.md, Clients) */
function claudeFeatures({ env, home }: Person): Finding[] {
  const inFile = memberOf(settingsOrNone(jsonSettings, join(claudeFolder({ env, home }), 'settings.json')), 'env');
  const value = (name: string) => env[name] || textOf(memberOf(inFile, name));
  if (value('ANTHROPIC_BASE_URL') === '' || value('ENABLE_TOOL_SEARCH') !== '') return [];
  return [
    warn(
      'Claude Code',
      'with a base URL it sends the whole definition of every tool, instead of searching for tools',
      'export ENABLE_TOOL_SEARCH=true   # or svc start claude, which sets it',
    ),
  ];
}

const CLAUDE_KEEPS_DAYS = 30; // (code.claude.com/docs, settings: cleanupPeriodDays)

function claudeTranscripts(person: Person): Finding[] {
  const folder = claudeFolder(person);
  if (!existsSync(join(folder, 'projects'))) return [];
  const set = settingsOrNone(jsonSettings, join(folder, 'settings.json')).cleanupPeriodDays;
  const days = typeof set === 'number' ? set : CLAUDE_KEEPS_DAYS;
  if (days > 365) return [];
  return [
    warn('Claude Code', `it deletes its transcripts after ${days} days`, 'svc sync   # keeps them in the record'),
  ];
}

function codexLogin({ env, home }: Person): Finding[] {
  const auth = settingsOrNone(jsonSettings, join(env.CODEX_HOME || join(home, '.codex'), 'auth.json'));
  const hasKey = textOf(auth.OPENAI_API_KEY) !== '';
  if (hasKey || memberOf(auth, 'tokens') === undefined || memberOf(auth, 'tokens') === null) return [];
  return [
    warn(
      'Codex',
      'it is logged in with ChatGPT, whose calls go to an address of their own and are not recorded',
      'printenv OPENAI_API_KEY | codex login --with-api-key',
    ),
  ];
}

/** (Gemini CLI's documentation, settings: general.sessionRetention) */
function geminiTranscripts({ home }: Person): Finding[] {
  const retention = memberOf(
    settingsOrNone(jsonSettings, join(home, '.gemini/settings.json')),
    'general',
    'sessionRetention',
  );
  const age = textOf(memberOf(retention, 'maxAge'));
  if (memberOf(retention, 'enabled') !== true || age === '') return [];
  return [warn('Gemini CLI', `it deletes its sessions after ${age}`, 'svc sync   # keeps them in the record')];
}

const claudeFolder = ({ env, home }: Person) => env.CLAUDE_CONFIG_DIR || join(home, '.claude');
