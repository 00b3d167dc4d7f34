/** The session that a word on the command line names. */
import { OperatorError } from '../../errors.ts';
import type { Place } from '../../model/place.ts';
import type { Session } from '../../model/session.ts';
import type { ApiClient } from '../api-client.ts';
import { plain } from '../units.ts';
import { lastList } from './last-list.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const SHOWN = 5;

/** Its id. @throws {OperatorError} it names none, or several */
export async function sessionOf(word: string, api: ApiClient, home: string): Promise<string> {
  if (UUID.test(word)) return sessionIn(await placesOf(word, api), word) ?? word.toLowerCase(); // as yet unknown: the read says so
  if (word === 'last') return (await newestSession(api)).id;
  if (/^\d{1,4}$/.test(word)) {
    const numbered = lastList({ home, address: api.address })[Number(word) - 1];
    if (numbered) return numbered;
    if (word.length < 4)
      throw new OperatorError(
        `Cannot find session ${word}: the last list has no such number; 'svc sessions' makes one`,
      );
  }
  const found = sessionIn(await placesOf(word, api), word);
  if (found) return found;
  throw new OperatorError(
    `Cannot find the session '${plain(word)}': no id is or begins like that; 'svc sessions' lists them`,
  );
}

/** What an id, or the beginning of one, names. */
export async function placesOf(word: string, api: ApiClient): Promise<Place[]> {
  const path = `/v1/whereis/${encodeURIComponent(word)}`;
  return (await api.json<{ items: Place[] }>({ path, what: 'find the session' })).items;
}

/** The id of the one session of these places. Null: none. Ids of sessions come before those of what is in one. @throws {OperatorError} several */
export function sessionIn(places: readonly Place[], word: string): string | null {
  const own = places.filter(({ kind }) => kind === 'session' || kind === 'harness_session');
  const ids = [...new Set((own.length > 0 ? own : places).map(({ session_id }) => session_id))];
  if (ids.length <= 1) return ids[0] ?? null;
  const more = ids.length > SHOWN ? `, and ${ids.length - SHOWN} more` : '';
  throw new OperatorError(
    `Cannot tell which session '${plain(word)}' is: there are ${ids.slice(0, SHOWN).join(', ')}${more}`,
  );
}

/** @throws {OperatorError} none is recorded */
export async function newestSession(api: ApiClient): Promise<Session> {
  const { items } = await api.json<{ items: Session[] }>({
    path: '/v1/browse/sessions?limit=1',
    what: 'find the last session',
  });
  if (items[0]) return items[0];
  throw new OperatorError('Cannot find the last session: none is recorded yet');
}
