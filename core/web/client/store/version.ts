/** Whether the service was updated since this page was loaded, so that it should be loaded anew. */
import { signal } from '@preact/signals';
import { hrefOf } from '../base.ts';

const MAIN = /<script type="module" src="([^"]+)"/;

export const isOutdated = signal(false);

/** Compares the script of this page with the one that the service's document names now. */
export async function checkVersion(): Promise<void> {
  const ours = document.querySelector('script[type=module][src]')?.getAttribute('src');
  const answer = await fetch(hrefOf('/'), { headers: { accept: 'text/html' } }).catch(() => null);
  if (!answer?.ok) return; // it will be asked again after the next interruption
  const theirs = MAIN.exec(await answer.text())?.[1];
  if (ours && theirs !== undefined && theirs !== ours) isOutdated.value = true;
}
