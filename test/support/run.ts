/** Runs the tests: each file in a process of its own, two at a time; `npm test -- derive` runs the files with that in their path.
 *  Files named `*.long.test.ts` run when they are named, or with SVC_TEST_LONG set, as `npm run test:long` does.
 *  The last line is always `N passed, N failed`, where SVC_TEST_PASSED_BEFORE and SVC_TEST_FAILED_BEFORE add what ran before the tests.
 *  With CI set, what could not be tested has failed. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildService } from './built-service.ts';
import { bundleTests } from './bundled-tests.ts';
import { failures, type Report, readReport } from './uvu-report.ts';

const LIMIT_MS = 240_000; // for one test of a file: without output for so long, it hangs
const FILE_LIMIT_MS = 900_000;
const LONG_FILE_LIMIT_MS = 2_700_000; // fifty kills of each process, on both databases, take some twenty minutes
const PIPES_MS = 5_000; // between a file's end and that of its output
const BUILD_FOR = 8; // files with whole services: with more, compiling `svc` once is less than what each start saves

/** The embedded database's WebAssembly is not compiled a second time into faster code, which is seldom worth it for as long as a file runs.
 *  The services that a file starts have it too (serve.ts), but where they are measured: those run as everybody's. */
const QUICK_START = ['--liftoff-only'];

/** Whole services that run beside one another too: seen to hold on a loaded machine. Of the others one runs at a time, beside a unit test. */
const BESIDE_SERVICES = endToEnd(`
  agents-with-transcripts attribution-repair built-in built-in-apart built-package captures cassette-journey cassette-target
  fuzz-checker promised-routes purge raw-turn-bodies readme-cassettes recordings serve-ingest serve-metrics tarball twenty-conversations
`);

/** Whole services whose time, frames or memory is measured: nothing runs beside them. */
const ALONE = endToEnd(`
  cassette-attacks cassette-hostile flood light-day processes publish-away statusline ten-starts web-large web-live
`);

type Ended = { output: string; stdout: string; code: number | null; late: string | null };
type Outcome = { report: Report; failed: number };

const root = fileURLToPath(new URL('../../', import.meta.url));
const strict = ['true', '1'].includes(process.env.CI ?? '');
const long = process.env.SVC_TEST_LONG !== undefined;
const running = new Set<number>();

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const pid of running) endGroup(pid);
    process.exit(1);
  });
}

const files = testFiles(process.argv.slice(2));
const outcomes: Outcome[] = [];
const wholeService = files.filter((file) => file.startsWith('test/e2e/'));
const measured = new Set(wholeService.filter((file) => ALONE.has(file) || file.endsWith('.long.test.ts')));
const [built, bundles] = await Promise.all([
  wholeService.length > BUILD_FOR ? builtProgram() : null,
  bundleTests(files),
]);
process.once('exit', () => {
  built?.remove();
  bundles.remove();
});
const services = wholeService.filter((file) => !measured.has(file) && !BESIDE_SERVICES.has(file));
const others = files.filter((file) => !measured.has(file) && !services.includes(file));
await Promise.all([runAll(services, others), runAll([], others)]);
await runAll([...measured], []);
if (files.length === 0) console.log(`No test file has ${process.argv.slice(2).join(' or ')} in its path`);
const before = {
  passed: Number(process.env.SVC_TEST_PASSED_BEFORE ?? 0),
  failed: Number(process.env.SVC_TEST_FAILED_BEFORE ?? 0) + (files.length === 0 ? 1 : 0),
};
printTotals(outcomes, before);

/** `svc` as it is installed, which the tests start instead of the sources. (serve.ts) */
async function builtProgram(): Promise<{ path: string; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-built-'));
  return { path: await buildService(folder), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** One after the other: its own files, then what is left of those that it shares with another run. */
async function runAll(own: string[], shared: string[]): Promise<void> {
  for (let file = own.shift() ?? shared.shift(); file !== undefined; file = own.shift() ?? shared.shift())
    outcomes.push(await outcomeOf(file));
}

function endToEnd(names: string): ReadonlySet<string> {
  return new Set(
    names
      .trim()
      .split(/\s+/)
      .map((name) => `test/e2e/${name}.test.ts`),
  );
}

/** Their paths from the project's root; with filters, those that contain one of them. */
function testFiles(filters: readonly string[]): string[] {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts') && !path.startsWith(`bench${sep}`) && !path.startsWith(`clients${sep}`))
    .map((path) => join('test', path).split(sep).join('/'))
    .filter((path) =>
      filters.length === 0 ? long || !path.endsWith('.long.test.ts') : filters.some((filter) => path.includes(filter)),
    )
    .sort();
}

async function outcomeOf(file: string): Promise<Outcome> {
  const started = performance.now();
  const ended = await runFile(file);
  const report = readReport(ended.stdout);
  const wrongs = whatWentWrong(ended, report);
  const failed = Math.max(failures(report), 0) + wrongs.length;
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (failed > 0) console.log(`\n${ended.output.trimEnd()}\n`);
  const marks = [`${report.passed} passed`, ...(failed > 0 ? [`${failed} failed`] : []), ...wrongs];
  console.log(
    `${failed > 0 ? 'FAIL' : ' ok '} ${seconds.padStart(6)} s  ${relative('test', file)}  ${marks.join(', ')}`,
  );
  return { report, failed };
}

/** Each counts as one failure beside the tests that failed. */
function whatWentWrong({ code, late }: Ended, report: Report): string[] {
  const { total, closed, skips, skipped } = report;
  if (late !== null) return [late];
  if (code !== 0 && failures(report) === 0) return [`crashed with status ${code ?? 'none'}`];
  if (total === 0 && skips.length === 0) return [closed ? 'has no test' : 'ran no test'];
  return strict ? [...skips, ...(skipped > 0 ? [`${skipped} left out by .skip or .only`] : [])] : [];
}

function runFile(file: string): Promise<Ended> {
  return new Promise((resolve) => {
    const { FORCE_COLOR: _, ...env } = process.env;
    const bundle = bundles.of(file);
    const program = bundle === null ? ['--import', 'tsx', file] : ['--enable-source-maps', bundle];
    const child = spawn(process.execPath, [...(measured.has(file) ? [] : QUICK_START), ...program], {
      cwd: root,
      env: {
        ...env,
        NO_COLOR: '1',
        SVC_TEST_BUNDLES: bundles.folder,
        ...(built ? { SVC_TEST_PROGRAM: built.path } : {}),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a group of its own, so that what it started ends with it
    });
    const { pid } = child;
    if (pid !== undefined) running.add(pid);
    let output = '';
    let stdout = '';
    let late: string | null = null;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      stdout += text;
      alarm.refresh(); // a test has ended
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const stop = (why: string) => {
      late ??= why;
      if (pid !== undefined) endGroup(pid);
    };
    const alarm = setTimeout(() => stop(`ended no test for ${LIMIT_MS / 1000} s`), LIMIT_MS);
    const fileLimitMs = file.endsWith('.long.test.ts') ? LONG_FILE_LIMIT_MS : FILE_LIMIT_MS;
    const fileAlarm = setTimeout(() => stop(`did not end within ${fileLimitMs / 1000} s`), fileLimitMs);
    child.on('error', (error) => {
      output += `Cannot start ${file}: ${error.message}\n`;
      settle(null);
    });
    child.on('exit', (code) => {
      if (pid !== undefined) endGroup(pid); // else a process left behind would hold the pipes open
      setTimeout(() => settle(code), PIPES_MS).unref(); // and one that left the group still may
    });
    child.on('close', (code) => settle(code));
    const settle = (code: number | null) => {
      clearTimeout(alarm);
      clearTimeout(fileAlarm);
      if (pid !== undefined) running.delete(pid);
      resolve({ output, stdout, code, late });
    };
  });
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // no process of the group is left
  }
}

function printTotals(all: readonly Outcome[], before: { passed: number; failed: number }): void {
  const suites = all.flatMap(({ report }) => report.suites);
  console.log('');
  for (const database of ['embedded', 'server']) {
    const of = suites.filter(({ name }) => name.endsWith(` (${database})`));
    const passed = of.reduce((sum, suite) => sum + suite.passed, 0);
    const total = of.reduce((sum, suite) => sum + suite.total, 0);
    if (total > 0) console.log(`${database} database: ${passed} of ${total} passed`);
  }
  for (const line of all.flatMap(({ report }) => report.skips)) console.log(line);
  const passed = all.reduce((sum, { report }) => sum + report.passed, before.passed);
  const failed = all.reduce((sum, outcome) => sum + outcome.failed, before.failed);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}
