/** What every row of Talk needs besides its own span. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { Folds } from './folds.ts';
import type { TalkRows } from './talk-rows.ts';

export type Talk = {
  columns: OutlineColumns;
  rows: TalkRows;
  folds: Folds;
  /** Shows the thread of a sub-agent instead of the one on screen. */
  openThread: (thread: string, from: number) => void;
  /** Shows all that is known of a span beside the conversation. */
  openPanel: (span: number) => void;
  /** Goes to the row that shows a span, wherever it is. */
  goTo: (span: number) => void;
};

export const TalkContext = createContext<Talk | null>(null);

export function useTalk(): Talk {
  const talk = useContext(TalkContext);
  if (!talk) throw new Error('Cannot show a row of Talk outside of it');
  return talk;
}
