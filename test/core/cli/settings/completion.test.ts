import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { keys } from '../../../../core/config/keys.ts';
import { svcIn } from '../../../support/run-program.ts';

const test = suite('svc completion');
let folder = '';
const scripts: Record<string, string> = {};
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-completion-'));
  mkdirSync(join(folder, 'my folder'));
  writeFileSync(join(folder, 'cassette.ts'), '');
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { status, out, err } = await svcIn({ cwd: folder, home: folder }, 'completion', shell);
    assert.equal([status, err], [0, ''], shell);
    writeFileSync(join(folder, shell), out);
    scripts[shell] = out;
  }
});
test.after(() => rmSync(folder, { recursive: true, force: true }));

/** What bash offers for the last of these words, as it calls a completion. */
function inBash(...words: string[]): string[] {
  const program = `
    source ./bash
    complete -p svc > /dev/null || exit 9
    COMP_WORDS=(svc "$@"); COMP_CWORD=$#; _svc
    for word in "\${COMPREPLY[@]}"; do printf '%s\\n' "$word"; done`;
  const options = { cwd: folder, env: { PATH: process.env.PATH } };
  return execFileSync('bash', ['--norc', '-c', program, 'bash', ...words], options)
    .toString()
    .split('\n')
    .filter(Boolean);
}

const hasBash = spawnSync('bash', ['--version']).status === 0;
if (!hasBash) console.log('skip: completion in bash: there is no bash here');
else {
  test('bash: commands, those of a group, options and arguments', () => {
    for (const name of ['serve', 'status', 'config', 'cassette', 'completion', 'help'])
      assert.ok(inBash('').includes(name));
    assert.equal(inBash('contr'), ['contract']);
    assert.equal(inBash('config', ''), ['list', 'get', 'set', 'unset', 'path', 'help']);
    assert.equal(inBash('config', 'list', '--ch'), ['--changed']);
    assert.equal(inBash('serve', ''), ['all', 'proxy', 'api', 'ingest', 'derive']);
    assert.equal(inBash('completion', 'f'), ['fish']);
    assert.equal(inBash('help', 'casset'), ['cassette']);
    assert.equal(inBash('nothing', 'of', 'it', '--x'), []);
  });

  test('bash: settings and their choices, as flags and as keys', () => {
    const offered = inBash('serve', '--');
    for (const { flag } of keys) if (flag) assert.ok(offered.includes(flag), flag);
    assert.equal(inBash('serve', '--capture-mode', ''), ['full', 'metadata', 'off']);
    assert.equal(inBash('serve', '--capture-mode', 'off', '--api-web-ui', 'f'), ['false']);
    assert.equal(inBash('config', 'get', 'proxy.upstreams.o'), ['proxy.upstreams.openai', 'proxy.upstreams.ollama']);
    assert.equal(inBash('config', 'set', 'capture.mode', 'm'), ['metadata']);
    assert.equal(inBash('config', 'set', '--home', 'storage.pooled', ''), ['true', 'false']);
    assert.equal(inBash('config', 'set', 'proxy.project', ''), []);
    assert.equal(inBash('init', '--preset', 'te'), ['team']);
    assert.equal(
      inBash('help', 's').filter((name) => name.startsWith('sh')),
      [],
    );
  });

  test('bash: the value of an option is no argument, and paths are completed where one belongs', () => {
    assert.equal(inBash('serve', '--log-level', 'warn', 'pro'), ['proxy']);
    assert.equal(inBash('cassette', 'check', 'cass'), ['cassette.ts']);
    assert.equal(inBash('anything', '--', 'cass'), ['cassette.ts']);
  });
}

test('the scripts of all shells have each command and each flag, and break no quotes', () => {
  const offered = ['svc config set', 'svc cassette add', 'capture.mode'];
  for (const [shell, script] of Object.entries(scripts)) {
    for (const word of offered) assert.ok(script.includes(word), `${shell}: ${word}`);
    for (const { flag } of keys)
      if (flag) assert.ok(script.includes(shell === 'fish' ? `-l ${flag.slice(2)} ` : flag), `${shell}: ${flag}`);
    for (const line of script.split('\n')) assert.is((line.match(/'/g) ?? []).length % 2, 0, `${shell}: ${line}`);
  }
});

for (const shell of ['zsh', 'fish'])
  if (spawnSync(shell, ['--version']).status === 0)
    test(`${shell} reads its script`, () => {
      const { status, stderr } = spawnSync(shell, ['-n', join(folder, shell)]);
      assert.equal([status, stderr.toString()], [0, '']);
    });

if (spawnSync('fish', ['--version']).status === 0)
  test('fish offers choices', () => {
    const run = (line: string) => {
      const code = `source ./fish; complete -C '${line}'`;
      return execFileSync('fish', ['-c', code], {
        cwd: folder,
        env: { PATH: process.env.PATH, HOME: folder },
      }).toString();
    };
    assert.is(run('svc config set capture.mode '), 'full\nmetadata\noff\n');
    assert.match(run('svc config '), /^get\tprint the value of a setting$/m);
    assert.match(run('svc serve --capture-mode '), /^metadata\t/m);
  });

test('another shell: status 2', async () => {
  const { status, err } = await svcIn({ cwd: folder, home: folder }, 'completion', 'tcsh');
  assert.equal([status, err], [2, "Cannot complete for 'tcsh': there are scripts for bash, zsh, fish\n"]);
});

test.run();
