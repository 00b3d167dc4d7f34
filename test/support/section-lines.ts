/** Runs the shell lines of a document's sections, one after the other, as a reader would type them. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import * as assert from 'uvu/assert';
import { emptyFolder, removeFolder } from './serve.ts';
import { freshClone, openShell, type Shell, type Staying, shellBlocks } from './shell-lines.ts';
import { answeredBy, userRecord } from './transcript-records.ts';

const root = resolve(import.meta.dirname, '../..');
/** Clients of others, where `npm run test:clients` has installed them. (test/clients/run-client.ts) */
const CLIENTS: Record<string, string> = {
  claude: join(root, 'test/clients/node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs'),
  codex: join(root, 'test/clients/node_modules/@openai/codex/bin/codex.js'),
};

export type Sections = {
  /** From the project's root. */
  file: string;
  /** The headings of its sections that are run; absent: all of them. */
  of?: (section: string) => boolean;
  /** Commands that its reader has run before, besides those of README.md. */
  before?: readonly string[];
  /** The reader's current folder, from the project's root. */
  folder?: string;
  /** What each line prints on success, in the order of the lines. */
  lines: readonly (readonly [line: RegExp, shows: RegExp])[];
};

/** Commands that keep running, with what they print last. */
const STAYS: [RegExp, RegExp][] = [
  [/^npm start\b/, /\/v1\/sessions\n/],
  [/^npm run demo\b/, /Ctrl-C stops it/],
];
/** Commands that open the embedded database themselves, or need no service. */
const ALONE = /^svc verify|^npm test/;
/** Commands whose output depends on background work, which takes a while. */
const LATER = /\/v1\/cassettes\/|cassette list|cassette run|--mode vector/;
/** What the lines are run beside. */
const START = 'npm start';
const LINE_MS = 120_000;
/** Commands of README.md that a reader of any document has run before. */
const BEFORE = /^alias svc=|\/v1\/admin\/seed\/demo/;

/** @throws {Error} a line has no row, fails, or shows something else */
export async function linesWork({ file, of, before = [], folder = '.', lines }: Sections): Promise<void> {
  const blocks = listedBlocks({ file, ...(of && { of }), lines });
  const [clone, home] = await Promise.all([freshClone(), emptyFolder()]);
  await writeTranscript(home);
  const env = {
    ...{ PATH: process.env.PATH, HOME: home, TERM: 'dumb', NO_COLOR: '1', LANG: 'C.UTF-8' },
    npm_config_cache: execFileSync('npm', ['config', 'get', 'cache']).toString().trim(),
  };
  const installs = blocks.flat().some((line) => line.startsWith('npm ci'));
  if (!installs) await symlink(join(root, 'node_modules'), join(clone, 'node_modules'));
  const shell = await openShell(clone, env);
  const reader = readerAt(shell, clone);
  try {
    for (const [name, path] of Object.entries(CLIENTS)) await shell.run(`${name}() { node '${path}' "$@"; }`);
    const first = blocksOf('README.md').flatMap(({ commands }) => commands.filter((line) => BEFORE.test(line)));
    for (const line of installs ? [] : [...first, ...before]) await reader.read(line, /^/);
    let row = 0;
    for (const block of blocks) {
      await shell.run(`cd '${join(clone, folder)}'`); // and has a terminal there
      for (const line of block) {
        const [, shows = /^$/] = lines[row++] ?? []; // its own row, as is checked above
        if (!isThere(line)) {
          console.log(`skip: a line of ${file}, '${line}': 'npm run test:clients' installs what it needs`);
          continue;
        }
        const shown = isInstall(line) ? installed(line, await whereIs(shell), env) : await reader.read(line, shows);
        assert.ok(shows.test(shown), `${line} shows this, and not ${shows}:\n${shown.slice(0, 4_000)}`);
      }
    }
    await reader.stop();
  } finally {
    await shell.close();
    await Promise.all([clone, home].map(removeFolder));
  }
}

/** The commands of each block. @throws {Error} they are not the lines of the guide */
export function listedBlocks({ file, of = () => true, lines }: Sections): string[][] {
  const blocks = blocksOf(file)
    .filter(({ section }) => of(section))
    .map(({ commands }) => commands);
  assert.equal(
    blocks.flat().filter((line, i) => !lines[i]?.[0].test(line)),
    [],
    `each line of ${file} has its row in test/support/guides.ts`,
  );
  assert.is(blocks.flat().length, lines.length, `${file}: and no row is left over`);
  return blocks;
}

export const blocksOf = (file: string) => shellBlocks(readFileSync(join(root, file), 'utf8'));

const isInstall = (line: string) => /^npm (ci|install)\b/.test(line);

const whereIs = async (shell: Shell): Promise<string> => (await shell.run('pwd')).output.trim();

/** Of the clients of others only those that are here. */
function isThere(line: string): boolean {
  const [, client] = /^(claude|codex) /.exec(line) ?? [];
  return client === undefined || existsSync(CLIENTS[client] ?? '');
}

/** Packages are all that comes from elsewhere: over a network that may have an authority of its own. */
const installed = (line: string, cwd: string, env: Record<string, string | undefined>): string =>
  execFileSync('bash', ['-c', line], {
    cwd,
    env: { ...env, npm_config_prefer_offline: 'true', NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS },
    stdio: ['ignore', 'pipe', 'pipe'],
  }).toString();

/** Keeps svc running, started as in README.md, whenever a line needs it. */
function readerAt(shell: Shell, clone: string) {
  let staying: Staying | null = null;
  const stop = async () => {
    await staying?.interrupt();
    staying = null;
  };
  const start = async (line: string): Promise<string> => {
    await stop();
    const last = STAYS.find(([pattern]) => pattern.test(line))?.[1] ?? /^$/;
    const command = await shell.start(`cd '${clone}'\n${line}`, last);
    const output = await command.output();
    if (line.startsWith(START)) staying = command;
    else await command.interrupt();
    return output;
  };
  const succeed = async (line: string, shows: RegExp): Promise<string> => {
    const end = Date.now() + (LATER.test(line) ? 90_000 : 0);
    for (;;) {
      const { status, output } = await shell.run(line, LINE_MS);
      if ((status === 0 && shows.test(output)) || Date.now() > end) {
        assert.is(status, 0, `${line}\n${output}`);
        return output;
      }
    }
  };
  return {
    stop,
    async read(line: string, shows: RegExp): Promise<string> {
      if (STAYS.some(([pattern]) => pattern.test(line))) return start(line);
      if (ALONE.test(line)) await stop();
      else if (staying === null) await start(START);
      return succeed(line, shows);
    },
  };
}

/** As Claude Code leaves one behind. */
async function writeTranscript(home: string): Promise<void> {
  const folder = join(home, '.claude/projects/-home-dev-atlas');
  await mkdir(folder, { recursive: true });
  const records = [
    userRecord(['', 'a'], 0, 'Which ports does the gateway use?'),
    answeredBy(['a', 'b'], 2, 'msg_ports', [{ type: 'text', text: 'It uses 8080.' }]),
  ];
  const lines = records.map((record) => `${JSON.stringify(record)}\n`);
  await writeFile(join(folder, '5d0f8f2e-1f4a-4a35-9d3e-0f6a0c1b2d3e.jsonl'), lines.join(''));
}
