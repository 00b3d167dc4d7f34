/** Copying to the clipboard; where the browser refuses, a box with the text selected. */
import { signal } from '@preact/signals';
import { showToast } from './toast.tsx';

/** The text that a person has to copy by hand; null: none. */
export const textToCopy = signal<string | null>(null);

/** @param notice what to report when it is done */
export async function copyText(text: string, notice = 'Copied'): Promise<void> {
  const clean = text.replaceAll('\0', '\u2400'); // a clipboard ends at the first NUL
  try {
    await navigator.clipboard.writeText(clean);
    showToast(notice);
  } catch {
    textToCopy.value = clean; // no permission, or no secure address
  }
}
