/** Which call the address names, for the pages of a call. */
import { useRef } from 'preact/hooks';
import { useAddress } from '../../../address.ts';

/** @param pattern of the page's path, with the session and the number of the raw turn as groups */
export function useCallAddress(pattern: RegExp): { session: string; raw_turn_id: number } {
  const { path } = useAddress();
  const matched = useRef<RegExpExecArray | null>(null);
  matched.current = pattern.exec(path) ?? matched.current; // a page is still shown while the next one is loaded
  const [, session = '', number = ''] = matched.current ?? [];
  return { session, raw_turn_id: Number(number) };
}
