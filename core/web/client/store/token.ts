/** The bearer token of this tab: taken from the address once, else entered in the dialog; it leaves the page in a header alone. */
import { signal } from '@preact/signals';

const PLACE = 'svc-token';
const IN_ADDRESS = /^#token=(.+)$/;

const stored = (): string | null => {
  try {
    return sessionStorage.getItem(PLACE);
  } catch {
    return null; // storage is switched off: the token lasts as long as the page
  }
};

export const token = signal<string | null>(stored());

/** Whether a request waits for the token, so that the dialog is open. */
export const tokenWanted = signal(false);

/** Whether the service refused the token that it had. */
export const tokenRefused = signal(false);

let waiting: { promise: Promise<boolean>; resolve: (entered: boolean) => void } | null = null;

/** Takes the token out of the address, so that neither the history nor a copied link has it. */
export function takeTokenFromAddress(): void {
  const found = IN_ADDRESS.exec(location.hash)?.[1];
  if (found === undefined) return;
  history.replaceState(history.state, '', location.pathname + location.search);
  saveToken(decoded(found));
}

export function saveToken(value: string): void {
  token.value = value;
  try {
    sessionStorage.setItem(PLACE, value);
  } catch {
    // as above
  }
  settle(true);
}

/**
 * Waits until a person has entered another token.
 * @param refused the token that the service did not take
 * @returns false: the dialog was closed without one
 */
export function anotherToken(refused: string | null): Promise<boolean> {
  if (token.peek() !== refused) return Promise.resolve(true);
  if (refused !== null) tokenRefused.value = true;
  token.value = null;
  try {
    sessionStorage.removeItem(PLACE);
  } catch {
    // as above
  }
  tokenWanted.value = true;
  waiting ??= pending();
  return waiting.promise;
}

export const closeTokenDialog = (): void => settle(false);

function settle(entered: boolean): void {
  tokenWanted.value = false;
  waiting?.resolve(entered);
  waiting = null;
}

function pending(): { promise: Promise<boolean>; resolve: (entered: boolean) => void } {
  let resolve: (entered: boolean) => void = () => undefined;
  const promise = new Promise<boolean>((onResolve) => {
    resolve = onResolve;
  });
  return { promise, resolve };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
