/** `svc sessions open`: the page of a session in the web UI. */
import type { LoadedConfig } from '../../config/load.ts';
import { openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { openUi } from '../open.ts';
import { sessionOf } from './session-of.ts';

export async function openSession(word: string, { print }: { print: boolean }, loaded: LoadedConfig, io: Io) {
  const id = await sessionOf(word, await openApiClient(loaded), io.home);
  await openUi(loaded, { print, path: `sessions/${id}` }, io);
}
