/** `svc start`: runs a harness through the capture proxy, as if the harness had been started itself, and says afterwards what was recorded. */
import type { Environment } from '../../config/environment.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import type { Io } from '../io.ts';
import { shownAddress } from '../shown-address.ts';
import { systemProblem } from '../system-error.ts';
import { plain } from '../units.ts';
import { aroundProxies } from './around-proxies.ts';
import { envelopeHeaders, type HarnessRun, newRun } from './envelope.ts';
import { commandState } from './find-command.ts';
import { type FoundService, findService } from './find-service.ts';
import { followRun } from './follow-run.ts';
import type { Launch, StartedHarness, Unrecorded } from './harness/harness.ts';
import { startedHarness } from './harness/harnesses.ts';
import { recordedLine, recordedSessions } from './recorded.ts';
import { COMMAND_FAILURES, runChild } from './run-child.ts';
import { openRunFolder } from './run-folder.ts';
import { upstreamsOf } from './upstreams.ts';

type Options = {
  command: string;
  args: readonly string[];
  /** The configuration, read when it is needed: a mistake in it keeps no harness from running. */
  load: () => LoadedConfig;
  /** What Node runs: `svc`. */
  own: readonly string[];
};

/** @returns the exit status of the harness, as a shell gives it */
export async function start({ command, args, load, own }: Options, io: Io): Promise<number> {
  const say = (sentence: string) => io.err(`svc: ${sentence}\n`);
  const state = commandState(command, io.env, io.cwd);
  if (state !== 'found') return ended(COMMAND_FAILURES[state], command, say);
  const harness = startedHarness(command);
  const run = newRun();
  const prepared = await prepare({ harness, args, load, own, run }, io);
  if ('unrecorded' in prepared) {
    say(`not recorded: ${prepared.unrecorded}`);
    return ended(await runChild({ command, args, env: io.env, cwd: io.cwd }), command, say);
  }
  const { launch, service, loaded, removeFiles } = prepared;
  for (const remark of launch.remarks) say(remark);
  try {
    const env = { ...io.env, ...aroundProxies(io.env, service.proxy), ...clientTargets(service), ...launch.env };
    const endFollowing = followRun({ harness, args, run, service, loaded }, io, say);
    const child = await runChild({ command, args: [...launch.args, ...args], env, cwd: io.cwd });
    if (child.failure === undefined) await report({ harness, launch, service, loaded, run }, io, say);
    await endFollowing(); // after the report, for which the service has to be up
    return ended(child, command, say);
  } finally {
    removeFiles();
    service.leave();
  }
}

function ended(child: { status: number; failure?: string }, command: string, say: (sentence: string) => void): number {
  if (child.failure !== undefined) say(`cannot start '${plain(command)}': ${child.failure}`);
  return child.status;
}

type Prepared = { launch: Launch; service: FoundService; loaded: LoadedConfig; removeFiles(): void };
type ToPrepare = Omit<Options, 'command'> & { harness: StartedHarness; run: HarnessRun };

/** Whatever fails here, the harness runs. */
async function prepare({ harness, args, load, own, run }: ToPrepare, io: Io): Promise<Prepared | Unrecorded> {
  let service: FoundService | null = null;
  try {
    const loaded = load();
    service = await findService(loaded, io, own);
    const files = openRunFolder(loaded.homeFolder, run.id);
    const launch = harness.launch({
      ...{ proxy: service.proxy, upstreams: await upstreamsOf(service, loaded, io), args },
      ...{ env: io.env, cwd: io.cwd, home: io.home },
      ...{ envelope: envelopeHeaders(run, io.cwd), writeFile: files.writeFile },
    });
    if (!('unrecorded' in launch)) return { launch, service, loaded, removeFiles: files.remove };
    service.leave();
    return launch;
  } catch (error) {
    service?.leave();
    return { unrecorded: reasonOf(error) };
  }
}

/** In one line. */
function reasonOf(error: unknown): string {
  const reason =
    error instanceof OperatorError
      ? error.message
      : (systemProblem(error) ?? `an error of svc itself: ${String(error)}`);
  const lines = reason.split('\n').map((line) => line.trim().replace(/^- /, ''));
  return plain(lines.join(' '));
}

/** The service for `svc` itself, where the harness calls it. */
const clientTargets = ({ proxy, api }: FoundService): Environment => ({
  SVC_CLIENT_PROXY_TARGET: proxy,
  ...(api !== null && { SVC_CLIENT_API_TARGET: api }),
});

type Ended = Omit<Prepared, 'removeFiles'> & { harness: StartedHarness; run: HarnessRun };

/** Never rejects: the exit status of the harness would be lost. */
async function report(
  { harness, launch, service, loaded, run }: Ended,
  io: Io,
  say: (line: string) => void,
): Promise<void> {
  if (service.api === null) return say('recorded; the read API of that service is elsewhere');
  const api = shownAddress(service.api);
  const config = loaded.config.api;
  const recorded = await recordedSessions({
    ...{
      api: service.api,
      token: config.token,
      run,
      hasEnvelope: launch.hasEnvelope,
      harnessId: harness.harnessId,
      cwd: io.cwd,
    },
  }).catch(() => null);
  if (recorded === null) return say(`recorded; the service at ${api} does not say what, 'svc status' does later`);
  say(recordedLine(recorded, api, config));
}
