/** The session that a reader left the list for, noted in the entry of the browser's history: Back and a reload return to it. */

const STATE_NAME = 'session';

export function rememberPlace(id: string): void {
  history.replaceState({ ...stateOf(history.state), [STATE_NAME]: id }, '');
}

export function rememberedPlace(): string | null {
  const id = stateOf(history.state)[STATE_NAME];
  return typeof id === 'string' ? id : null;
}

const stateOf = (state: unknown): Record<string, unknown> =>
  typeof state === 'object' && state !== null ? (state as Record<string, unknown>) : {};
