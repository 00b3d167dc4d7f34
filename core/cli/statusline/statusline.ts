/** `svc statusline`: one line about the session in which a harness is, whatever happens: an error in a status bar helps nobody. */
import type { Environment } from '../../config/environment.ts';
import { type HarnessState, harnessState } from './harness-state.ts';
import { readApiPlaces } from './read-api-places.ts';
import { findSession, type SessionLookup } from './recorded-session.ts';
import { shownLine } from './shown-line.ts';
import { textOf } from './text-of.ts';

type Surroundings = { stdin: NodeJS.ReadStream; env: Environment; cwd: string; home: string };

/** For all of it: a harness draws its status bar anew after every message. */
const DEADLINE_MS = 300;

export async function statusline({ stdin, env, cwd, home }: Surroundings): Promise<string> {
  let state: HarnessState = { session_id: null, project_dir: null, context_percent: null };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<SessionLookup>((resolve) => {
    timer = setTimeout(() => resolve(state.session_id === null ? 'down' : 'late'), DEADLINE_MS);
  });
  const found = async (): Promise<SessionLookup> => {
    state = harnessState(stdin.isTTY ? '' : await textOf(stdin)); // to a terminal no harness writes
    if (state.session_id === null) return 'down';
    const folders = [...new Set([state.project_dir ?? cwd, cwd, home])].filter((folder) => folder !== '');
    return findSession(state.session_id, await readApiPlaces({ env, folders }));
  };
  const lookup = await Promise.race([found().catch(() => 'down' as const), late]);
  clearTimeout(timer);
  stdin.destroy();
  return shownLine({
    lookup,
    context_percent: state.context_percent,
    hasColours: !env.NO_COLOR && env.TERM !== 'dumb',
  });
}
