/** `svc sessions rename`, `star`, `unstar` and `delete`: what a person changes of a session. Its raw turns stay as they are. */
import type { LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import type { Session } from '../../model/session.ts';
import { type ApiClient, openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { plain } from '../units.ts';
import { sessionOf } from './session-of.ts';

/** Members of PATCH /v1/sessions/{id}. */
export type SessionEdit = { display_name: string } | { starred: boolean };

export async function editSession(word: string, edit: SessionEdit, loaded: LoadedConfig, io: Io): Promise<void> {
  const api = await openApiClient(loaded);
  const id = await sessionOf(word, api, io.home);
  await api.json({ method: 'PATCH', path: `/v1/sessions/${id}`, body: edit, what: 'edit the session' });
  const { display_title, starred } = await read(api, id);
  io.err(`${id} is called '${plain(display_title)}'${starred ? ' and has a star' : ''}\n`);
}

export type Confirm = (question: string, signal: AbortSignal) => Promise<boolean>;

/**
 * @param confirm null: nobody is there to confirm it
 * @throws {OperatorError} 2: it was not confirmed
 */
export async function deleteSession(
  word: string,
  { yes, confirm }: { yes: boolean; confirm: Confirm | null },
  loaded: LoadedConfig,
  io: Io,
): Promise<void> {
  const api = await openApiClient(loaded);
  const id = await sessionOf(word, api, io.home);
  const { display_title } = await read(api, id);
  const title = plain(display_title);
  if (!yes) {
    if (confirm === null)
      throw new OperatorError(`Cannot delete '${title}': nobody is there to confirm it; add --yes`, 2);
    const sure = await confirm(
      `Hide '${title}' (${id}) from all lists, for good? [y/N] `,
      new AbortController().signal,
    );
    if (!sure) throw new OperatorError('Nothing was deleted', 1);
  }
  await api.json({ method: 'DELETE', path: `/v1/sessions/${id}`, what: 'delete the session' });
  io.err(`Deleted '${title}'. Its raw turns stay: 'svc purge' removes those too\n`);
}

async function read(api: ApiClient, id: string): Promise<Session> {
  return (await api.json<{ session: Session }>({ path: `/v1/sessions/${id}`, what: 'read the session' })).session;
}
