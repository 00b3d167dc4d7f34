/** The session that a reader left the list for, in the entry of the browser's history: Back, a reload and the way up return to it. */

const STATE_NAME = 'session';

/** The list as it was left for a session, and the session whose row it is to show when it is shown again. */
const left = { id: '', search: '', returning: '' };

export function rememberPlace(id: string): void {
  Object.assign(left, { id, search: location.search });
  history.replaceState({ ...stateOf(history.state), [STATE_NAME]: id }, '');
}

export function rememberedPlace(): string | null {
  const id = stateOf(history.state)[STATE_NAME] ?? left.returning;
  left.returning = '';
  return typeof id === 'string' && id !== '' ? id : null;
}

/** The path of the list with the filters and the order that it was left with. */
export const listPath = (): string => `/sessions${left.search}`;

/** Says that the reader goes up from a session to the list: its row is shown, if it was opened there. */
export function returnFrom(id: string): void {
  if (id === left.id) left.returning = id;
}

const stateOf = (state: unknown): Record<string, unknown> =>
  typeof state === 'object' && state !== null ? (state as Record<string, unknown>) : {};
