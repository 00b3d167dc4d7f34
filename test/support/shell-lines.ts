/** Runs the shell lines of a document unchanged: in a fresh clone, and a shell in it that has a terminal and no network but loopback. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { eventually } from './serve.ts';

const root = resolve(import.meta.dirname, '../..');

/** The commands of each `sh` block below a heading, in order; a command that goes on over several lines is one. */
export function shellBlocks(markdown: string): { section: string; commands: string[] }[] {
  const blocks = [...markdown.matchAll(/^```sh\n([\s\S]*?)^```$/gm)];
  return blocks.map(({ index, 1: text = '' }) => {
    const section = [...markdown.slice(0, index).matchAll(/^## (.*)$/gm)].at(-1)?.[1] ?? '';
    const commands: string[] = [];
    let open = '';
    for (const line of text.split('\n')) {
      open += open === '' ? line : `\n${line}`;
      if (isWhole(open)) {
        if (open.trim() !== '' && !open.startsWith('#')) commands.push(open);
        open = '';
      }
    }
    return { section, commands };
  });
}

/** Whether the command is complete, so that bash would run it. */
function isWhole(text: string): boolean {
  if (/(?:\||\\|&&)$/.test(text.trimEnd())) return false;
  try {
    execFileSync('bash', ['-n', '-c', text], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

/** A clone in a folder of its own, with the changes of this working tree. */
export async function freshClone(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-clone-'));
  const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const path of tracked.toString().split('\0').filter(Boolean)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await copyFile(join(root, path), join(folder, path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error; // removed and not committed yet
    });
  }
  return folder;
}

/** Why such a shell cannot run here; null: it can. */
export function noShell(): string | null {
  for (const tool of ['bash', 'curl', 'git', 'ip', 'jq', 'script', 'setsid', 'unshare'])
    try {
      execFileSync('sh', ['-c', `command -v ${tool}`]);
    } catch {
      return `there is no '${tool}'`;
    }
  try {
    execFileSync('unshare', ['-rnpf', '--mount-proc', 'ip', 'link', 'set', 'lo', 'up'], { stdio: 'pipe' });
    return null;
  } catch {
    return 'this system gives no network namespaces';
  }
}

export type Ran = { status: number; output: string };

export type Shell = {
  /** Runs a command to its end and answers its prompts with yes. */
  run(command: string, timeoutMs?: number): Promise<Ran>;
  /** Starts a command that stays, and waits until its output has `last`. */
  start(command: string, last: RegExp, timeoutMs?: number): Promise<Staying>;
  close(): Promise<void>;
};
export type Staying = { output(): Promise<string>; interrupt(): Promise<void> };

/** bash at a terminal, in namespaces of its own: every port is free, nothing can be fetched, and what it started ends with it. */
export async function openShell(folder: string, env: Record<string, string | undefined>): Promise<Shell> {
  const own = await mkdtemp(join(tmpdir(), 'svc-shell-'));
  const commands = join(own, 'commands');
  execFileSync('mkfifo', [commands]);
  await writeFile(join(own, 'shell'), SHELL);
  // The first process of a namespace inherits orphans: sh reaps them, while script would spin over them.
  const child = spawn(
    'unshare',
    [
      '-rnpf',
      '--mount-proc',
      '--kill-child',
      'sh',
      '-c',
      `ip link set lo up && script -qfec 'bash "${own}/shell" "${commands}"' /dev/null; exit`,
    ],
    { cwd: folder, env, stdio: ['pipe', 'pipe', 'ignore'] },
  );
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += stripVTControlCharacters(text).replaceAll('\r', '');
    if (/\[y\/N\] $/.test(output)) child.stdin.write('y\n');
  });
  const pipe = createWriteStream(commands);
  let count = 0;
  const run: Shell['run'] = async (command, timeoutMs = 60_000) => {
    output = '';
    count += 1;
    pipe.write(`${command}\0`);
    const end = new RegExp(`\n@${count} ended with (\\d+)@`);
    const late = () => new Error(`It does not end: ${command}\n${output}`);
    await eventually(command, async () => end.test(output), timeoutMs).catch(() => {
      throw late();
    });
    return { status: Number(end.exec(output)?.[1]), output: output.slice(0, output.search(end)) };
  };
  return {
    run,
    async start(command, last, timeoutMs = 120_000) {
      const log = join(own, `log-${count}`);
      const script = join(own, `started-${count}`);
      await writeFile(script, `${command}\n`);
      const { output: pid } = await run(`setsid bash '${script}' > '${log}' 2>&1 < /dev/null & echo "$!"`);
      const output = async () => (await run(`cat '${log}'`)).output;
      await eventually(`${command} to say ${last}`, async () => last.test(await output()), timeoutMs).catch(
        async () => {
          throw new Error(`${command} does not say ${last}:\n${await output()}`);
        },
      );
      return {
        output,
        interrupt: async () => {
          const { status } = await run(`kill -INT -- -${pid.trim()}; wait ${pid.trim()}; true`);
          if (status !== 0) throw new Error(`${command} could not be stopped`);
        },
      };
    },
    async close() {
      pipe.end();
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      }
      await rm(own, { recursive: true, force: true });
    },
  };
}

/** Evaluates what comes through the pipe. A request that is refused counts as failed; one that would never end is read for a while. */
const SHELL = `
shopt -s expand_aliases
stty -echo
curl() {
  case " $* " in
    *' -N '*) timeout 5 curl --fail-with-body "$@"; [ $? = 124 ] ;;
    *' -fOJ '*) command curl "$@" && cat "$(ls -t | head -n 1)" ;;
    *) command curl --fail-with-body "$@" ;;
  esac
}
count=0
while IFS= read -r -d '' command <&3; do
  count=$((count + 1))
  eval "$command"
  printf '\\n@%s ended with %s@\\n' "$count" "$?"
done 3< "$1"
`;
