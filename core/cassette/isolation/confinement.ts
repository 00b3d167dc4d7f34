/** What keeps a cassette's process from the rest of the machine? The most that this system allows, found by trying it once. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Confinement } from '../running.ts';
import { loadedLibraries } from './loaded-libraries.ts';

/**
 * `jail`: namespaces of its own (users, processes, network, mounts) with a root that holds Node and its folder, and nothing
 * else; `namespaces`: without that root; `limits`: bounded memory; `permissions`: what Node itself refuses.
 */
export type Wall = 'jail' | 'namespaces' | 'limits' | 'permissions';

type Wanted = Ground & {
  network: boolean;
  /** An empty folder, where the jail's root is mounted; nobody else sees that mount. */
  root: string;
  /** What it may read, in the jail and by Node's permissions. */
  readable: readonly string[];
  memory_mb: number;
  /** Node's arguments: the file to run and what it is told. */
  run: readonly string[];
};

export type Command = { file: string; args: string[]; env: Record<string, string> };

const PATH = '/usr/sbin:/usr/bin:/sbin:/bin';
const PROBE_MS = 10_000;
/** For buffers and what else lies beside JavaScript's heap. */
const BESIDE_HEAP_MB = 128;

/** When processors are short, whoever is recorded comes first: so much is added to the niceness of the service. */
export const BELOW_SERVICE = 5;

/**
 * Behind the service when processors are short: Linux weighs whole sessions against each other first (`autogroup`), then processes.
 * No cores, few files; `-d` counts what was made writable, not what was reserved, so V8's large reservations pass.
 */
const LIMITED = `
{ echo 5 > /proc/self/autogroup; } 2>/dev/null
ulimit -c 0; ulimit -n 1024; ulimit -d "$1" || exit 1; shift; exec nice -n ${BELOW_SERVICE} "$@"`;

/**
 * Makes the jail's root out of the files and folders up to `--`, then runs the rest in it as a user without any right. An own
 * user namespace inside the first one, so that not even the mounts can be undone. Devices keep `dev`, all else loses it; a
 * mount that was `noexec` has to stay so.
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

/** From high to low. */
export const WALLS: readonly Wall[] = ['jail', 'namespaces', 'limits', 'permissions'];

/** What this system offers. */
export type Ground = {
  /** The highest that stands. */
  wall: Wall;
  /** What Node takes of memory before anything runs in it. */
  node_mb: number;
  /** Processors of which a process can be given one; empty: it cannot be bound to one. */
  processors: readonly number[];
};

let found: Promise<Ground> | undefined;

/** Each wall is tried with a Node that only says its version. Asked once per process. */
export const findGround = (tmp: string): Promise<Ground> => {
  found ??= probe(tmp);
  return found;
};

async function probe(tmp: string): Promise<Ground> {
  const nothing: Ground = { wall: 'permissions', node_mb: 0, processors: [] };
  if (process.platform !== 'linux') return nothing;
  const status = await said({ file: process.execPath, args: ['-p', STATUS], env: {} });
  const node_mb = Math.ceil(Number(/^VmData:\s*(\d+) kB/m.exec(status)?.[1]) / 1024);
  const processors = await bindable(processorsIn(/^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? ''));
  for (const wall of WALLS) {
    const ground = { wall, node_mb, processors };
    if (await stands(ground, tmp)) return ground;
  }
  return nothing;
}

/** `0-2,5` is 0, 1, 2 and 5. */
const processorsIn = (list: string): number[] =>
  list.split(',').flatMap((range) => {
    const [first = NaN, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 || 0 }, (_, i) => first + i);
  });

/** Tried with the first of them. */
async function bindable(processors: readonly number[]): Promise<readonly number[]> {
  const args = [...boundTo(processors[0] ?? 0), process.execPath, '-p', 'os.availableParallelism()'];
  const seen = await said({ file: '/usr/bin/env', args, env: { PATH } });
  return seen.trim() === '1' ? processors : [];
}

const boundTo = (processor: number): string[] => ['taskset', '-c', `${processor}`];

/** All in turn, so that those who are busy seldom share one. */
const nextOf = (processors: readonly number[]): string[] => {
  const processor = processors[turn++ % processors.length];
  return processor === undefined ? [] : boundTo(processor);
};
let turn = 0;

/** From Node 24 on, V8 reserves its code range so that it counts as data: what a process starts with cannot be a constant. */
const STATUS = "fs.readFileSync('/proc/self/status', 'utf8')";

async function stands(ground: Ground, tmp: string): Promise<boolean> {
  const root = await mkdtemp(join(tmp, 'try-'));
  try {
    const run = ['-p', 'process.version'];
    const command = commandFor({ ...ground, network: false, root, readable: [root], memory_mb: 64, run });
    return (await said(command)).trim() === process.version;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** What a process prints that ends well; nothing when it does not. */
const said = ({ file, args, env }: Command): Promise<string> =>
  new Promise((resolve) => {
    const child = spawn(file, args, { env, detached: true, stdio: ['ignore', 'pipe', 'ignore'], timeout: PROBE_MS });
    let printed = '';
    child.stdout.on('data', (chunk) => {
      printed += chunk;
    });
    child.once('error', () => resolve(''));
    child.once('close', (code) => resolve(code === 0 ? printed : ''));
  });

/** Whether its permissions cover sockets, as from Node 25 on: also those in the file system. */
const NODE_GUARDS_NETWORK = process.allowedNodeEnvironmentFlags.has('--allow-net');

/** How its process is started behind that wall. Node's own permissions stand behind each of them. */
export function commandFor(wanted: Wanted): Command {
  const { wall, node_mb, processors, network, root, readable, memory_mb, run } = wanted;
  const node = [
    process.execPath,
    process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission',
    '--disable-warning=ExperimentalWarning',
    '--disable-warning=SecurityWarning',
    ...readable.map((path) => `--allow-fs-read=${path}`),
    ...(network && NODE_GUARDS_NETWORK ? ['--allow-net'] : []),
    `--max-old-space-size=${memory_mb}`,
    '--no-addons',
    ...run,
  ];
  if (wall === 'permissions') return { file: process.execPath, args: node.slice(1), env: {} };
  const data_kb = (node_mb + memory_mb + BESIDE_HEAP_MB) * 1024;
  const limited = ['-c', LIMITED, 'svc', `${data_kb}`, ...nextOf(processors), ...DIES_WITH_US];
  const env = { PATH };
  if (wall === 'limits') return { file: '/bin/sh', args: [...limited, 'env', '-i', ...node], env };
  const apart = ['unshare', '--user', '--map-root-user', '--pid', '--ipc', '--uts', ...(network ? [] : ['--net'])];
  const forked = ['--fork', '--kill-child'];
  if (wall === 'namespaces')
    return { file: '/bin/sh', args: [...limited, ...apart, ...forked, 'env', '-i', ...node], env };
  const seen = [process.execPath, ...loadedLibraries(), ...DEVICES, ...(network ? NAMES : []), ...readable];
  const jailed = ['/bin/sh', '-c', JAILED, 'svc', root, readable[0] ?? '/', ...seen.filter(existsSync), '--', ...node];
  return { file: '/bin/sh', args: [...limited, ...apart, '--mount', ...forked, ...jailed], env };
}

/** Even one in an endless loop, which would not notice that its channel closed. */
const DIES_WITH_US = ['setpriv', '--pdeathsig', 'KILL'];
const DEVICES = ['/dev/null', '/dev/urandom'];
const NAMES = ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf'];

/** What that wall is worth, for whoever decides whether to let a cassette in. Each claim has its test. */
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
