/** The title of the window: one line, with nothing hidden in it, and not too long. */
import { visibleText } from '../worker/invisible.ts';

const LONGEST = 200;

/** @param title may be recorded text */
export function documentTitleText(title: string): string {
  const line = visibleText(title.slice(0, 2_000).replace(/\s+/g, ' ').trim());
  const short = line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
  return short === '' || short === 'svc' ? 'svc' : `${short} · svc`;
}
