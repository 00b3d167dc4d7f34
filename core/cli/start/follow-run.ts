/** The transcripts of a harness that `svc start` runs, sent while it runs: they say what its calls do not. */
import type { LoadedConfig } from '../../config/load.ts';
import type { Io } from '../io.ts';
import { type Following, followTranscripts } from '../sync/follow.ts';
import { stateFolder } from '../sync/state-folder.ts';
import type { HarnessRun } from './envelope.ts';
import type { FoundService } from './find-service.ts';
import type { StartedHarness } from './harness/harness.ts';

/** For what it wrote last. */
const LAST_MS = 5_000;

/** To the service of this machine they would be a second session in another store. */
const UNSENT = 'its transcripts are not sent: the service at client.proxy_target is not the one of this machine';

type Followed = {
  harness: StartedHarness;
  args: readonly string[];
  run: HarnessRun;
  service: FoundService;
  loaded: LoadedConfig;
};

/** @param say prints a sentence, while the harness may have the terminal @returns ends it, once the harness has ended */
export function followRun({ harness, args, run, service, loaded }: Followed, io: Io, say: (sentence: string) => void) {
  const { harnessId, isOwnTranscript } = harness;
  if (!harnessId || !isOwnTranscript) return async () => {};
  if (service.ingest === null) {
    if (service.isElsewhere) say(UNSENT);
    return async () => {};
  }
  const problems: string[] = []; // shown afterwards: until then the screen is the harness's
  const following: Following = followTranscripts({
    ...{ harness: harnessId, since: run.startedAt, address: service.ingest },
    folder: service.isShared ? loaded.homeFolder : stateFolder(loaded, io.home),
    places: { env: io.env, home: io.home },
    isWanted: (path) => isOwnTranscript(path, { cwd: io.cwd, args }),
    onProblem: (message) => void problems.push(message),
  });
  return async () => {
    await following.stop(LAST_MS);
    for (const problem of problems) say(problem);
  };
}
