/**
 * `svc service`: what it writes and what it calls. No user's systemd and no launchd runs where this is tested, so programs of their names
 * record how they are called; the unit is read by the real systemd, the property list by a parser of such lists.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Io } from '../../../../core/cli/io.ts';
import { serviceDefinition } from '../../../../core/cli/service/definition.ts';
import { installService } from '../../../../core/cli/service/install.ts';
import { printServiceLogs } from '../../../../core/cli/service/logs.ts';
import { printServiceStatus } from '../../../../core/cli/service/status.ts';
import { runSteps } from '../../../../core/cli/service/steps.ts';
import { uninstallService } from '../../../../core/cli/service/uninstall.ts';
import { OperatorError } from '../../../../core/errors.ts';
import { svc } from '../../../support/cli-program.ts';
import { emptyFolder, removeFolder } from '../../../support/serve.ts';

type Context = { home: string; bin: string; io: Io & { printed: string; stderr: string }; calls(): string[] };

/** A program of this name: it records its arguments, prints what the file beside it holds, and ends with the status that another holds. */
function fake(bin: string, name: string): void {
  const script = `#!/bin/sh
echo "${name} $*" >> "${bin}/calls"
[ -f "${bin}/${name}.out" ] && cat "${bin}/${name}.out"
[ -f "${bin}/${name}.fails" ] || exit 0
cat "${bin}/${name}.fails" >&2; exit 1
`;
  writeFileSync(join(bin, name), script, { mode: 0o755 });
}

/**
 * Prints a service that is loaded as often as 'loaded' has lines, or as long as 'launchctl.out' has text, and refuses a bootstrap as often as
 * 'refusals' has lines.
 */
function fakeLaunchctl(bin: string): void {
  const script = `#!/bin/sh
echo "launchctl $*" >> "${bin}/calls"
left() { [ -s "$1" ] && sed -i 1d "$1"; }
case "$1" in
  print) if [ -s "${bin}/launchctl.out" ]; then cat "${bin}/launchctl.out"; else left "${bin}/loaded" || exit 113; fi ;;
  bootstrap) if left "${bin}/refusals"; then echo 'Bootstrap failed: 5: Input/output error' >&2; exit 5; fi ;;
esac
exit 0
`;
  writeFileSync(join(bin, 'launchctl'), script, { mode: 0o755 });
}

const suiteFor = (name: string, programs: readonly string[]) => {
  const test = suite<Context>(name);
  test.before.each(async (context) => {
    const home = await emptyFolder();
    const bin = join(home, 'bin');
    mkdirSync(bin);
    for (const program of programs) fake(bin, program);
    const io = {
      printed: '',
      stderr: '',
      out: (text: string) => {
        io.printed += text;
      },
      err: (text: string) => {
        io.stderr += text;
      },
      env: { PATH: `${bin}:/usr/bin:/bin` },
      cwd: home,
      home,
    };
    const calls = () => {
      const file = join(bin, 'calls');
      const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
      rmSync(file, { force: true });
      return lines;
    };
    Object.assign(context, { home, bin, io, calls });
  });
  test.after.each(({ home }) => removeFolder(home));
  return test;
};

const define = (folder: string) => ({
  command: ['/opt/node 22/bin/node', '/opt/svc/dist/core/cli/main.js', 'serve'] as const,
  folder,
  path: '/opt/node 22/bin:/usr/bin',
  version: '0.1.0',
});
const defineNext = (folder: string) => ({ ...define(folder), version: '0.2.0' });
const options = { dryRun: false, json: false };

const linux = suiteFor("svc service, by the user's systemd", ['systemctl', 'journalctl']);
const onLinux = { platform: 'linux' as const, define };
const unitOf = (home: string) => join(home, '.config/systemd/user/svc.service');

linux('install writes the unit, has it read, enabled and started, and says so', async ({ home, io, calls }) => {
  assert.is(await installService(options, io, onLinux), 0);
  const unit = readFileSync(unitOf(home), 'utf8');
  assert.match(unit, 'ExecStart="/opt/node 22/bin/node" "/opt/svc/dist/core/cli/main.js" "serve"\n');
  assert.match(unit, `WorkingDirectory=${home}\n`);
  const expected = ['daemon-reload', 'enable svc.service', 'restart svc.service'].map(
    (one) => `systemctl --user ${one}`,
  );
  assert.equal(calls(), expected);
  assert.match(io.printed, `Wrote ${unitOf(home)}\n`);
  for (const call of expected) assert.match(io.printed, `Ran ${call}\n`);
  assert.match(io.stderr, 'loginctl enable-linger');
});

linux('again it changes nothing and restarts nothing; with another folder it does', async ({ home, io, calls }) => {
  await installService(options, io, onLinux);
  calls();
  const { mtimeMs } = statSync(unitOf(home));
  await installService(options, io, onLinux);
  assert.is(statSync(unitOf(home)).mtimeMs, mtimeMs);
  assert.match(io.printed, 'Is as it was');
  assert.is(calls().at(-1), 'systemctl --user start svc.service');
  await installService({ ...options, folder: 'elsewhere' }, io, onLinux);
  assert.match(readFileSync(unitOf(home), 'utf8'), `WorkingDirectory=${home}/elsewhere\n`);
  assert.is(calls().at(-1), 'systemctl --user restart svc.service');
});

linux('after an upgrade of svc, install has the new version run', async ({ home, io, calls }) => {
  await installService(options, io, onLinux);
  calls();
  assert.is(await installService(options, io, { ...onLinux, define: defineNext }), 0);
  assert.is(calls().at(-1), 'systemctl --user restart svc.service');
  assert.match(readFileSync(unitOf(home), 'utf8'), /^# Written by 'svc service install' of svc 0\.2\.0\.\n/);
});

linux('--dry-run prints the file and the commands, and does nothing', async ({ home, io, calls }) => {
  assert.is(await installService({ ...options, dryRun: true }, io, onLinux), 0);
  assert.match(io.printed, /^# \S+svc\.service\n[\s\S]*\[Install\][\s\S]*# systemctl --user daemon-reload\n/);
  assert.not.ok(existsSync(unitOf(home)));
  assert.equal(calls(), []);
});

linux('--json has the file, what was run, and whether it was started', async ({ home, io }) => {
  await installService({ dryRun: false, json: true }, io, onLinux);
  const { file, changed, started, commands } = JSON.parse(io.printed);
  assert.equal([file, changed, started, commands.length], [unitOf(home), true, true, 3]);
});

linux('where systemd does not run for this user, the file is there, and the commands are printed', async (context) => {
  const { home, bin, io } = context;
  writeFileSync(join(bin, 'systemctl.fails'), 'Failed to connect to bus: No medium found\u001b[31m\n');
  assert.is(await installService(options, io, onLinux), 1);
  assert.ok(existsSync(unitOf(home)));
  assert.match(io.stderr, "Cannot run 'systemctl --user daemon-reload': Failed to connect to bus: No medium found");
  assert.not.match(io.stderr, '\u001b');
  assert.match(io.stderr, '  systemctl --user restart svc.service\n');
  assert.not.match(io.stderr, 'enable-linger');
});

linux('settings of the shell are named as not passed on, without their values', async ({ io }) => {
  await installService(options, { ...io, env: { ...io.env, SVC_API_TOKEN: 'planted' } }, onLinux);
  assert.match(io.stderr, 'SVC_API_TOKEN');
  assert.not.match(io.stderr + io.printed, 'planted');
});

linux('uninstall stops it and removes its file; again there is nothing to do', async ({ home, io, calls }) => {
  await installService(options, io, onLinux);
  calls();
  assert.is(await uninstallService(options, io, onLinux), 0);
  assert.not.ok(existsSync(unitOf(home)));
  assert.equal(calls(), ['systemctl --user disable --now svc.service', 'systemctl --user daemon-reload']);
  io.printed = '';
  assert.is(await uninstallService(options, io, onLinux), 0);
  assert.is(io.printed, 'No service is installed\n');
  assert.equal(calls(), []);
});

linux(
  'a service that cannot be stopped is not removed: a bus that is away, as after su',
  async ({ home, bin, io, calls }) => {
    await installService(options, io, onLinux);
    calls();
    io.printed = '';
    writeFileSync(join(bin, 'systemctl.fails'), 'Failed to connect to bus: No medium found\n');
    assert.is(await uninstallService(options, io, onLinux), 1);
    assert.ok(existsSync(unitOf(home)));
    assert.equal(calls(), ['systemctl --user disable --now svc.service']);
    assert.match(io.stderr, "Cannot run 'systemctl --user disable --now svc.service': Failed to connect to bus");
    assert.match(io.stderr, `so its file stays: ${unitOf(home)}\n`);
    assert.is(io.printed, '');
    assert.is(await uninstallService({ ...options, json: true }, io, onLinux), 1);
    assert.is(JSON.parse(io.printed).removed, false);
    rmSync(join(bin, 'systemctl.fails'));
    assert.is(await uninstallService(options, io, onLinux), 0);
    assert.not.ok(existsSync(unitOf(home)));
  },
);

linux('status is that of systemd', async ({ bin, io }) => {
  assert.is(await printServiceStatus({ json: false }, io, onLinux), 1);
  assert.match(io.printed, 'No service is installed');
  await installService(options, io, onLinux);
  io.printed = '';
  const shown = 'ActiveState=active\nSubState=running\nMainPID=4711\nStatusText=proxy up, service up\n';
  writeFileSync(join(bin, 'systemctl.out'), shown);
  assert.is(await printServiceStatus({ json: false }, io, onLinux), 0);
  assert.match(io.printed, 'Runs as process 4711 (systemd, active: proxy up, service up)');
  io.printed = '';
  writeFileSync(join(bin, 'systemctl.out'), 'ActiveState=failed\nMainPID=0\nStatusText=\n');
  assert.is(await printServiceStatus({ json: true }, io, onLinux), 1);
  const { installed, running, pid, state } = JSON.parse(io.printed);
  assert.equal([installed, running, pid, state], [true, false, null, 'failed']);
});

linux('logs are those of the journal, safe for a terminal', async ({ bin, io, calls }) => {
  writeFileSync(join(bin, 'journalctl.out'), '{"msg":"a"}\n\u001b[2Jb\n');
  assert.is(await printServiceLogs({ follow: true, lines: '5' }, io, onLinux), 0);
  assert.equal(calls(), ['journalctl --user --unit=svc.service --output=cat --lines=5 --follow']);
  assert.is(io.printed, '{"msg":"a"}\n\ufffd[2Jb\n');
  await refused(() => printServiceLogs({ follow: false, lines: '5; rm' }, io, onLinux), /whole number/);
});

if (spawnSync('systemd-analyze', ['--version']).status === 0)
  linux('systemd finds nothing wrong with the unit, also of odd paths', async ({ home, io }) => {
    const odd = join(home, 'a b "c" 100% $HOME');
    mkdirSync(odd);
    const program = join(home, 'node 100%'); // of a program systemd takes no quotes
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    const own = {
      command: [program, join(odd, 'main.js'), 'serve'] as const,
      folder: odd,
      path: odd,
      version: '0.1.0',
    };
    await installService(options, io, { ...onLinux, define: () => own });
    const { stderr, status } = spawnSync('systemd-analyze', ['verify', '--man=no', unitOf(home)], { encoding: 'utf8' });
    assert.equal([status, stderr.split('\n').filter((line) => line.includes('svc'))], [0, []], stderr);
  });
else console.log('skip: the unit of svc service: there is no systemd-analyze');

linux.run();

const mac = suiteFor('svc service, by launchd', []);
mac.before.each(({ bin }) => {
  fakeLaunchctl(bin);
});
const onMac = { platform: 'darwin' as const, uid: 501, define };
const plistOf = (home: string) => join(home, 'Library/LaunchAgents/svc-capture.svc.plist');

mac('install writes the list and has it loaded; a changed one is unloaded before', async ({ home, io, calls }) => {
  assert.is(await installService(options, io, onMac), 0);
  const bootstrap = `launchctl bootstrap gui/501 ${plistOf(home)}`;
  const [bootout, print, enable] = ['bootout', 'print', 'enable'].map(
    (one) => `launchctl ${one} gui/501/svc-capture.svc`,
  );
  assert.equal(calls(), [bootout, print, enable, bootstrap]);
  await installService(options, io, onMac);
  assert.equal(calls(), [enable, bootstrap]);
  await installService(options, io, { ...onMac, define: defineNext });
  assert.is(calls()[0], bootout);
  assert.match(readFileSync(plistOf(home), 'utf8'), "<!-- Written by 'svc service install' of svc 0.2.0. -->\n");
});

mac('the new one is loaded once the old one has ended, and again where launchd is not ready yet', async (context) => {
  const { bin, io, calls } = context;
  writeFileSync(join(bin, 'loaded'), '\n\n');
  writeFileSync(join(bin, 'refusals'), '\n\n');
  assert.is(await installService(options, io, onMac), 0, io.stderr);
  const names = calls().map((call) => call.split(' ')[1]);
  assert.equal(names, ['bootout', 'print', 'print', 'print', 'enable', 'bootstrap', 'bootstrap', 'bootstrap']);
  assert.equal(
    io.printed.match(/^Ran \S+ \S+/gm),
    ['bootout', 'enable', 'bootstrap'].map((one) => `Ran launchctl ${one}`),
  );
});

mac('neither is waited for without an end', async ({ bin, io, calls }) => {
  writeFileSync(join(bin, 'loaded'), '\n'.repeat(100));
  writeFileSync(join(bin, 'refusals'), '\n'.repeat(100));
  const [gone, refused] = [
    { fails: ['launchctl', 'print'] as const, mostMs: 300 },
    { status: 5, mostMs: 300 },
  ];
  const steps = [
    { command: ['launchctl', 'bootout'] as const, until: gone },
    { command: ['launchctl', 'bootstrap'] as const, retry: refused },
  ];
  assert.is((await runSteps(steps, io)).failed, 'Bootstrap failed: 5: Input/output error');
  assert.ok(calls().length < 20);
});

mac('status, logs and uninstall', async ({ home, bin, io, calls }) => {
  await installService(options, io, onMac);
  calls();
  io.printed = '';
  writeFileSync(join(bin, 'launchctl.out'), 'gui/501/svc-capture.svc = {\n\tstate = running\n\n\tpid = 4711\n}\n');
  assert.is(await printServiceStatus({ json: false }, io, onMac), 0);
  assert.match(io.printed, 'Runs as process 4711 (launchd, running)');
  mkdirSync(join(home, 'Library/Logs'));
  writeFileSync(join(home, 'Library/Logs/svc.log'), 'one\ntwo\n');
  io.printed = '';
  await printServiceLogs({ follow: false, lines: '1' }, io, onMac);
  assert.is(io.printed, 'two\n');
  calls();
  assert.is(await uninstallService(options, io, onMac), 0);
  assert.equal(calls(), ['launchctl bootout gui/501/svc-capture.svc']);
  assert.not.ok(existsSync(plistOf(home)));
});

if (spawnSync('python3', ['--version']).status === 0)
  mac('the property list is one, whatever is in the paths', async ({ home, io }) => {
    const folder = `${home}/R&D <"1">`;
    await installService({ ...options, folder }, io, onMac);
    const script = 'import json, plistlib, sys; print(json.dumps(plistlib.load(open(sys.argv[1], "rb"))))';
    const list = JSON.parse(execFileSync('python3', ['-c', script, plistOf(home)], { encoding: 'utf8' }));
    assert.equal(list.ProgramArguments, [...define('').command]);
    assert.is(list.WorkingDirectory, folder);
    assert.equal([list.Label, list.RunAtLoad, list.KeepAlive], ['svc-capture.svc', true, { SuccessfulExit: false }]);
    assert.equal(list.EnvironmentVariables, { PATH: '/opt/node 22/bin:/usr/bin' });
  });
else console.log('skip: the property list of svc service: there is no python3');

mac.run();

const elsewhere = suiteFor('svc service, without a service manager', []);

elsewhere('it is refused with a sentence', async ({ home, io }) => {
  const bare = { ...io, env: { PATH: join(home, 'bin') } };
  for (const platform of ['linux', 'darwin', 'win32'] as const)
    await refused(
      () => installService(options, bare, { platform, define }),
      /neither systemd's systemctl nor launchd's/,
    );
  assert.not.ok(existsSync(unitOf(home)));
});

elsewhere('a clone that was not built is refused, a package is run by absolute paths', ({ home }) => {
  assert.throws(
    () => serviceDefinition(home, home),
    /Cannot install the service: '.*main\.js' is not there; run 'npm run build'/,
  );
  mkdirSync(join(home, 'dist/core/cli'), { recursive: true });
  writeFileSync(join(home, 'dist/core/cli/main.js'), '');
  writeFileSync(join(home, 'package.json'), '{"version":"0.1.0"}');
  const { command, version } = serviceDefinition(home, home);
  assert.is(version, '0.1.0');
  assert.equal(command, [process.execPath, join(home, 'dist/core/cli/main.js'), 'serve']);
});

elsewhere('the commands', async ({ home }) => {
  const { status, out } = await svc(['service', '--help'], { cwd: home });
  assert.is(status, 0);
  for (const name of ['install', 'uninstall', 'status', 'logs']) assert.match(out, new RegExp(`^ +${name} `, 'm'));
  assert.is((await svc(['service', 'status'], { cwd: home, env: { PATH: '/nowhere' } })).status, 1);
});

elsewhere.run();

async function refused(work: () => Promise<unknown>, message: RegExp): Promise<void> {
  const thrown = await work().then(
    () => null,
    (error: unknown) => error,
  );
  assert.instance(thrown, OperatorError);
  assert.match((thrown as Error).message, message);
}
