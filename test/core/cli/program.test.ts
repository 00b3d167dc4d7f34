import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Commands, runProgram } from '../../../core/cli/program.ts';
import { keys } from '../../../core/config/keys.ts';
import type { LoadedConfig } from '../../../core/config/load.ts';
import { OperatorError } from '../../../core/errors.ts';

const test = suite('svc');
let empty = '';
test.before(() => {
  empty = mkdtempSync(join(tmpdir(), 'svc-program-'));
});
test.after(() => rmSync(empty, { recursive: true, force: true }));

type Called = {
  status: number;
  out: string;
  err: string;
  served: LoadedConfig[];
  roles: string[];
  contracts: { seal: boolean }[];
};

async function svc(
  args: string[],
  { env = {}, serve }: { env?: Record<string, string>; serve?: Commands['serve'] } = {},
) {
  const called: Called = { status: -1, out: '', err: '', served: [], roles: [], contracts: [] };
  const commands: Commands = {
    version: '1.2.3',
    io: {
      out: (text) => {
        called.out += text;
      },
      err: (text) => {
        called.err += text;
      },
      env,
      cwd: empty,
      home: empty,
    },
    serve: async (loaded, role, io) => {
      called.served.push(loaded);
      called.roles.push(role);
      await serve?.(loaded, role, io);
    },
    status: async () => 1,
    demo: async () => {},
    open: async () => {},
    verify: async () => 1,
    cassette: {
      add: async () => 0,
      remove: async () => {},
      list: async () => 0,
      new: async () => {},
      check: async () => 0,
      serve: async () => {},
    },
    login: async () => {},
    contract: async (options) => {
      called.contracts.push(options);
    },
  };
  called.status = await runProgram(commands, args);
  return called;
}

test('serve hands over what flags and environment say', async () => {
  const args = ['serve', '--proxy-listen', ':0', '--api-web-ui', '--allowed-hosts', 'a,b', '--allowed-hosts=c'];
  const { status, served, err } = await svc(args, { env: { SVC_PROXY_LISTEN: ':1', SVC_LOG_LEVEL: 'debug' } });
  assert.is(err, '');
  assert.is(status, 0);
  assert.is(served[0]?.config.proxy.listen, ':0');
  assert.is(served[0]?.config.api.web_ui, true);
  assert.is(served[0]?.config.log.level, 'debug');
  assert.equal(served[0]?.config.allowed_hosts, ['a', 'b', 'c']);
  assert.is(served[0]?.folder, join(empty, '.svc'));
});

test('serve all is serve; a role that does not exist is refused before anything starts', async () => {
  assert.is((await svc(['serve', 'all'])).served.length, 1);
  const { status, err, served } = await svc(['serve', 'everything']);
  assert.is(status, 2);
  assert.is(err, "Cannot serve 'everything': there is no such role, only 'all', 'proxy', 'api', 'ingest', 'derive'\n");
  assert.is(served.length, 0);
});

test('serve --help tells every setting', async () => {
  const { status, out } = await svc(['serve', '--help']);
  assert.is(status, 0);
  for (const key of keys) if (key.flag) assert.ok(out.includes(key.flag), key.flag);
});

test('a wrong configuration is told without a stack, with status 2', async () => {
  const { status, err, served } = await svc(['serve', '--capture-mode', 'fulll', '--api-web-ui', 'maybe']);
  assert.is(status, 2);
  assert.is(served.length, 0);
  assert.equal(err.split('\n'), [
    'Cannot use this configuration:',
    "  - --capture-mode: must be one of full, metadata, off, not 'fulll'; did you mean 'full'?",
    "  - --api-web-ui: must be true or false, not 'maybe'",
    '',
  ]);
});

test('a command that fails: an OperatorError ends with its status, anything else shows its stack', async () => {
  const failing = async (error: Error) => svc(['serve'], { serve: () => Promise.reject(error) });
  const refused = await failing(new OperatorError('Cannot listen on port 1: it is taken'));
  assert.equal([refused.status, refused.err], [1, 'Cannot listen on port 1: it is taken\n']);
  const broken = await failing(new Error('Cannot happen'));
  assert.is(broken.status, 1);
  assert.match(broken.err, /Cannot happen\n +at /);
});

test('contract prints, or seals', async () => {
  assert.equal((await svc(['contract'])).contracts, [{ seal: false }]);
  assert.equal((await svc(['contract', '--seal'])).contracts, [{ seal: true }]);
});

test('wrong usage has status 2 and names what was likely meant', async () => {
  const cases: [string[], string][] = [
    [['srve'], 'Did you mean serve?'],
    [['srve', '--help'], 'Did you mean serve?'],
    [['serve', '--proxy-lisen', ':1'], 'Did you mean --proxy-listen?'],
    [['serve', '--proxy-listen'], 'argument missing'],
    [['serve', 'all', 'too'], 'too many arguments'],
    [['contract', '--sael'], 'Did you mean --seal?'],
    [['cassette', 'lst'], 'Did you mean list?'],
    [['list'], 'svc cassette list'],
    [['help', 'srve'], 'Did you mean serve?'],
    [['help', 'cassette', 'lst'], 'Did you mean list?'],
    [['nothing-like-it'], "error: unknown command 'nothing-like-it'\n(--help tells"],
    [[], 'Usage: svc'],
  ];
  for (const [args, message] of cases) {
    const { status, err, out } = await svc(args);
    assert.is(status, 2, args.join(' '));
    assert.match(err, message);
    assert.is(out, '');
  }
});

test('help explains each command, those of a group too, and the exit status', async () => {
  for (const [args, usage] of [
    [[], 'svc [options] [command]'],
    [['status'], 'svc status [options]'],
    [['cassette'], 'svc cassette [options] [command]'],
    [['cassette', 'add'], 'svc cassette add [options] <what>'],
  ] as const) {
    const { status, out, err } = await svc(['help', ...args]);
    assert.equal([status, err], [0, '']);
    assert.match(out, `Usage: ${usage}`);
    assert.match(out, 'Exit status: 0 done, 1 failed, 2 wrong usage.');
    assert.is(out, (await svc([...args, '--help'])).out);
  }
});

test('help and version are results: stdout, status 0', async () => {
  assert.equal(await svc(['--version']), { status: 0, out: '1.2.3\n', err: '', served: [], roles: [], contracts: [] });
  assert.match((await svc(['--help'])).out, 'Usage: svc');
});

const main = fileURLToPath(new URL('../../../core/cli/main.ts', import.meta.url));
const start = (args: string[], before: string[] = []) => {
  const child = spawn(process.execPath, ['--import', 'tsx', ...before, main, ...args], {
    cwd: fileURLToPath(new URL('../../../', import.meta.url)),
    env: { PATH: process.env.PATH, HOME: empty },
  });
  const output = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.err += text;
  });
  return { child, output };
};

test('as a process: the version on stdout, a refusal on stderr with its status', async () => {
  const version = start(['--version']);
  assert.equal(await once(version.child, 'close'), [0, null]);
  assert.match(version.output.out, /^\d+\.\d+\.\d+\n$/);
  const refused = start(['serve', '--log-level', 'loud']);
  assert.equal(await once(refused.child, 'close'), [2, null]);
  assert.match(refused.output.err, /^Cannot use this configuration:\n/);
  assert.is(refused.output.out, '');
});

test('SIGUSR1 does not open the inspector', async () => {
  const stays = 'data:text/javascript,setTimeout(() => {}, 60_000)';
  const { child, output } = start(['--version'], ['--import', stays]);
  const ended = once(child, 'close');
  await once(child.stdout, 'data');
  child.kill('SIGUSR1');
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  child.kill('SIGTERM');
  await ended;
  assert.is(output.err, '');
});

test.run();
