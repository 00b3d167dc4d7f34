/** Confinement of a cassette's process: the strongest that this system allows, found by trying it once. */
import type { SpawnOptions } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Confinement } from '../running.ts';
import { loadedLibraries } from './loaded-libraries.ts';
import { privateFolder } from './private-folder.ts';
import { spawnChild } from './spawn-child.ts';

/**
 * Levels of confinement. `jail`: namespaces of its own (users, processes, network, mounts) with a root that holds Node and its folder,
 * and nothing else; `namespaces`: without that root; `limits`: bounded memory; `permissions`: what Node itself refuses.
 */
export type ConfinementLevel = 'jail' | 'namespaces' | 'limits' | 'permissions';

type Wanted = SystemSupport & {
  network: boolean;
  /** An empty folder, where the jail's root is mounted; no other process sees that mount. */
  root: string;
  /** The paths that it may read, in the jail and by Node's permissions. */
  readable: readonly string[];
  /** Where it starts; absent: in the first of these. */
  folder?: string;
  memory_mb: number;
  /** Node's arguments: the file to run and its arguments. */
  run: readonly string[];
};

export type ConfinedCommand = { file: string; args: string[]; env: Record<string, string> };

const PATH = '/usr/sbin:/usr/bin:/sbin:/bin';
const PROBE_MS = 10_000;
/** Memory for buffers and all else outside of JavaScript's heap. */
const BESIDE_HEAP_MB = 128;

/** Added to the niceness of the service: when processors are short, the calls that are recorded come first. */
export const BELOW_SERVICE = 5;

/**
 * Runs with a lower priority than the service: Linux weighs whole sessions against each other first (`autogroup`), then processes.
 * No core dumps, few files; `-d` counts what was made writable, not what was reserved, so that V8's large reservations pass.
 */
const LIMITED = `
{ echo 5 > /proc/self/autogroup; } 2>/dev/null
ulimit -c 0; ulimit -n 1024; ulimit -d "$1" || exit 1; shift; exec nice -n ${BELOW_SERVICE} "$@"`;

/**
 * Makes the jail's root from the files and folders before `--`, then runs the rest in it as a user without any rights, in a second
 * user namespace inside the first one, so that not even the mounts can be undone. Devices keep `dev`, all else loses it; a mount
 * that was `noexec` has to stay so.
 */
const JAILED = `set -e
root=$1; from=$2; shift 2
mount -t tmpfs -o size=1m,mode=755 svc "$root"
read_only() { mount -o "remount,bind,ro,nosuid,nodev$2" "$1" 2>/dev/null; }
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir -p "$root$1"; else mkdir -p "$root\${1%/*}"; : > "$root$1"; fi
  mount --bind "$1" "$root$1"
  case $1 in /dev/*) ;; *) read_only "$root$1" || read_only "$root$1" ,noexec ;; esac
  shift
done
shift
mkdir "$root/proc"
mount -t proc proc "$root/proc" 2>/dev/null || :
read_only "$root"
exec env -i unshare --user --map-user=1000 --map-group=1000 --root="$root" --wd="$from" "$@"`;

/** From strongest to weakest. */
export const CONFINEMENT_LEVELS: readonly ConfinementLevel[] = ['jail', 'namespaces', 'limits', 'permissions'];

/** What this system supports. */
export type SystemSupport = {
  /** The strongest that works. */
  wall: ConfinementLevel;
  /** Memory that Node takes before anything runs in it. */
  node_mb: number;
  /** Processors to which a process can be bound; empty: it cannot be bound to one. */
  processors: readonly number[];
  /** Whether Node can give up a permission while it runs. */
  drops: boolean;
};

/** `lasting`: whether the next probe would find the same. */
type Probed = { support: SystemSupport; lasting: boolean };

let found: Promise<Probed> | undefined;

/**
 * Each wall is tried with a Node that only prints its version. Tried once per process, unless something failed that may pass: what was found
 * then is for this caller alone.
 * @throws {Error} it cannot be told now: a process did not start, or did not end in time
 */
export async function findSystemSupport(tmp: string): Promise<SystemSupport> {
  found ??= probe(tmp);
  const probing = found;
  const forget = () => {
    if (found === probing) found = undefined;
  };
  try {
    const { support, lasting } = await probing;
    if (!lasting) forget();
    return support;
  } catch (error) {
    forget();
    throw error;
  }
}

async function probe(tmp: string): Promise<Probed> {
  const isLinux = process.platform === 'linux';
  const [drops, status] = await Promise.all([
    dropsPermissions(),
    isLinux ? outputOf({ file: process.execPath, args: ['-p', STATUS], env: {} }) : '',
  ]);
  const nothing: SystemSupport = { wall: 'permissions', node_mb: 0, processors: [], drops };
  if (!isLinux) return { support: nothing, lasting: true };
  const node_mb = Math.ceil(Number(/^VmData:\s*(\d+) kB/m.exec(status)?.[1]) / 1024);
  const processors = await bindable(processorsIn(/^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? ''));
  let lasting = true;
  for (const wall of CONFINEMENT_LEVELS) {
    const support = { wall, node_mb, processors, drops };
    try {
      if (await works(support, tmp)) return { support, lasting };
    } catch {
      lasting = false; // this wall may work the next time
    }
  }
  return { support: nothing, lasting };
}

/** `0-2,5` is 0, 1, 2 and 5. */
const processorsIn = (list: string): number[] =>
  list.split(',').flatMap((range) => {
    const [first = NaN, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 || 0 }, (_, i) => first + i);
  });

/** The processors, if a process can be bound to the first of them; else none. */
async function bindable(processors: readonly number[]): Promise<readonly number[]> {
  const args = [...boundTo(processors[0] ?? 0), process.execPath, '-p', 'os.availableParallelism()'];
  const output = await outputOf({ file: '/usr/bin/env', args, env: { PATH } });
  return output.trim() === '1' ? processors : [];
}

const boundTo = (processor: number): string[] => ['taskset', '-c', `${processor}`];

/** Binds to the processors in turn, so that busy processes seldom share one. */
const boundToNext = (processors: readonly number[]): string[] => {
  const processor = processors[processorIndex++ % processors.length];
  return processor === undefined ? [] : boundTo(processor);
};
let processorIndex = 0;

/** Read, since no constant will do: from Node 24 on, V8's code range counts as data from the start of a process. */
const STATUS = "fs.readFileSync('/proc/self/status', 'utf8')";

async function works(ground: SystemSupport, tmp: string): Promise<boolean> {
  const root = await privateFolder(tmp, 'try-');
  try {
    const run = ['-p', 'process.version'];
    const command = commandFor({ ...ground, network: false, root, readable: [root], memory_mb: 64, run });
    return (await outputOf(command)).trim() === process.version;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/**
 * The output of a process that succeeds; empty when it fails for a reason that lasts: it ends with another code, or there is no such program.
 * @throws {Error} it does not start, or is killed: by the deadline, or for want of memory
 */
async function outputOf({ file, args, env }: ConfinedCommand): Promise<string> {
  const options: SpawnOptions = { env, detached: true, stdio: ['ignore', 'pipe', 'ignore'], timeout: PROBE_MS };
  const child = await spawnChild(file, args, options).catch((error: NodeJS.ErrnoException) => {
    if (NO_PROGRAM.includes(error.code ?? '')) return null;
    throw error;
  });
  if (!child) return '';
  let printed = '';
  child.stdout?.on('data', (chunk) => {
    printed += chunk;
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
    child.once('close', (...ending) => resolve(ending)),
  );
  if (code === null) throw new Error(`Cannot find what this system supports: '${file}' was ended by ${signal}`);
  return code === 0 ? printed : '';
}

const NO_PROGRAM: readonly string[] = ['ENOENT', 'EACCES', 'ENOTDIR'];

/** Whether Node's permissions cover sockets, those in the file system included, as from Node 25 on. */
const NODE_GUARDS_NETWORK = process.allowedNodeEnvironmentFlags.has('--allow-net');

/** `process.permission.drop`, of later versions of Node 26. It is there only where permissions are in force. */
const dropsPermissions = async (): Promise<boolean> => {
  if (!NODE_GUARDS_NETWORK) return false;
  const args = ['--permission', '-p', 'typeof process.permission.drop'];
  return (await outputOf({ file: process.execPath, args, env: {} })).trim() === 'function';
};

/** The command that starts its process behind that wall. Node's own permissions apply behind each wall. */
export function commandFor(wanted: Wanted): ConfinedCommand {
  const { wall, node_mb, processors, drops, network, root, readable, folder, memory_mb, run } = wanted;
  const node = [
    process.execPath,
    process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission',
    '--disable-warning=ExperimentalWarning',
    '--disable-warning=SecurityWarning',
    ...readable.map((path) => `--allow-fs-read=${path}`),
    // Later versions of Node 26 refuse the sockets of inherited channels too: the process opens them, then drops the permission.
    ...(NODE_GUARDS_NETWORK && (network || drops) ? ['--allow-net'] : []),
    `--max-old-space-size=${memory_mb}`,
    '--no-addons',
    ...run,
  ];
  if (wall === 'permissions') return { file: process.execPath, args: node.slice(1), env: {} };
  const data_kb = (node_mb + memory_mb + BESIDE_HEAP_MB) * 1024;
  const limited = ['-c', LIMITED, 'svc', `${data_kb}`, ...boundToNext(processors), ...DIES_WITH_US];
  const env = { PATH };
  if (wall === 'limits') return { file: '/bin/sh', args: [...limited, 'env', '-i', ...node], env };
  const apart = ['unshare', '--user', '--map-root-user', '--pid', '--ipc', '--uts', ...(network ? [] : ['--net'])];
  const forked = ['--fork', '--kill-child'];
  if (wall === 'namespaces')
    return { file: '/bin/sh', args: [...limited, ...apart, ...forked, 'env', '-i', ...node], env };
  const visible = [process.execPath, ...loadedLibraries(), ...DEVICES, ...(network ? NAMES : []), ...readable];
  const jailed = [
    '/bin/sh',
    '-c',
    JAILED,
    'svc',
    root,
    folder ?? readable[0] ?? '/',
    ...visible.filter(existsSync),
    '--',
    ...node,
  ];
  return { file: '/bin/sh', args: [...limited, ...apart, '--mount', ...forked, ...jailed], env };
}

/** Kills even a process in an endless loop, which would not notice that its channel closed. */
const DIES_WITH_US = ['setpriv', '--pdeathsig', 'KILL'];
const DEVICES = ['/dev/null', '/dev/urandom'];
const NAMES = ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf'];

/** What that wall stops and what not, for whoever decides whether to install a cassette. Each claim has its test. */
export function confinementOf({
  wall,
  processors,
  network,
  memory_mb,
}: Pick<Wanted, 'wall' | 'processors' | 'network' | 'memory_mb'>): Confinement {
  const apart = wall === 'jail' || wall === 'namespaces';
  const claims: [holds: boolean, stops: string, otherwise?: string][] = [
    [true, 'reading the environment of the service'],
    [true, 'writing files'],
    [true, 'starting processes or threads, loading native addons, opening a debugger'],
    [
      wall === 'jail',
      'reading files outside of its folder',
      'reading files that symbolic links in its folder point to, or that a weakness of the permissions of Node opens',
    ],
    [
      (apart || NODE_GUARDS_NETWORK) && !network,
      'connections to other machines and to ports of this one',
      'connections to other machines and to ports of this one, those of the service included',
    ],
    [
      wall === 'jail' || (NODE_GUARDS_NETWORK && !network),
      'connections to sockets in the file system',
      'connections to sockets in the file system, such as those of a database or of a container engine',
    ],
    [apart, 'signals to other processes', 'signals to other processes of the same user, the service included'],
    [
      wall !== 'permissions',
      `more memory than ${memory_mb + BESIDE_HEAP_MB} MB beside what Node itself takes`,
      `memory outside of the JavaScript heap, which is bounded to ${memory_mb} MB`,
    ],
    [
      wall !== 'permissions' && processors.length > 0,
      'keeping more than one processor busy',
      'keeping several processors busy',
    ],
    [true, 'keeping other cassettes or the service from answering by a loop, a death or a flood of output'],
  ];
  return {
    level: wall === 'jail' && !network ? 'full' : 'partial',
    stops: claims.filter(([holds]) => holds).map(([, stops]) => stops),
    does_not_stop: [
      ...claims.flatMap(([holds, , otherwise]) => (holds || otherwise === undefined ? [] : [otherwise])),
      'keeping one processor busy',
      'what its bindings allow',
      'an attack on the kernel',
    ],
  };
}
