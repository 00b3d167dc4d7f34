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
import { bundleDatabaseWorker } from './bundled-worker.ts';
import { failures, type Report, readReport } from './uvu-report.ts';

const LIMIT_MS = 240_000; // for one test of a file: without output for so long, it hangs
const FILE_LIMIT_MS = 900_000;
const PIPES_MS = 5_000; // between a file's end and that of its output
const AT_ONCE = 2;
const BUILD_FOR = 8; // files with whole services: with more, compiling `svc` once is less than what each start saves

/** The embedded database's WebAssembly is not compiled a second time into faster code, which is seldom worth it for as long as a file runs. */
const QUICK_START = ['--liftoff-only'];

/** Whole services in which nothing is timed or weighed, seen to hold on a loaded machine. The others run alone. */
const BESIDE_OTHERS = `
  agents-with-transcripts attribution-repair built-in built-in-apart built-package captures cassette-journey cassette-target
  fuzz-checker purge raw-turn-bodies readme-cassettes recordings serve-ingest serve-metrics tarball twenty-conversations
`
  .trim()
  .split(/\s+/)
  .map((name) => `test/e2e/${name}.test.ts`);

type Ended = { output: string; stdout: string; code: number | null; late: boolean };
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
const built = wholeService.length > BUILD_FOR ? await builtProgram() : null;
const worker = await bundleDatabaseWorker();
process.once('exit', () => {
  built?.remove();
  worker.remove();
});
const alone = wholeService.filter((file) => !BESIDE_OTHERS.includes(file));
await runAll(
  files.filter((file) => !alone.includes(file)),
  AT_ONCE,
);
await runAll(alone, 1); // a service, its clients and its upstream have the machine to themselves
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

async function runAll(some: readonly string[], atOnce: number): Promise<void> {
  const queue = [...some];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let file = queue.shift(); file !== undefined; file = queue.shift()) outcomes.push(await outcomeOf(file));
    }),
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
  if (late) return [`ended no test for ${LIMIT_MS / 1000} s, or not within ${FILE_LIMIT_MS / 1000} s`];
  if (code !== 0 && failures(report) === 0) return [`crashed with status ${code ?? 'none'}`];
  if (total === 0 && skips.length === 0) return [closed ? 'has no test' : 'ran no test'];
  return strict ? [...skips, ...(skipped > 0 ? [`${skipped} left out by .skip or .only`] : [])] : [];
}

function runFile(file: string): Promise<Ended> {
  return new Promise((resolve) => {
    const { FORCE_COLOR: _, ...env } = process.env;
    const child = spawn(process.execPath, [...QUICK_START, '--import', 'tsx', file], {
      cwd: root,
      env: {
        ...env,
        NO_COLOR: '1',
        SVC_TEST_DATABASE_WORKER: worker.path,
        ...(built ? { SVC_TEST_PROGRAM: built.path } : {}),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a group of its own, so that what it started ends with it
    });
    const { pid } = child;
    if (pid !== undefined) running.add(pid);
    let output = '';
    let stdout = '';
    let late = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      stdout += text;
      alarm.refresh(); // a test has ended
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const stop = () => {
      late = true;
      if (pid !== undefined) endGroup(pid);
    };
    const alarm = setTimeout(stop, LIMIT_MS);
    const fileAlarm = setTimeout(stop, FILE_LIMIT_MS);
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
