/** A recorded block on screen: known by its place, so that what is found in it can be gone to, opened and marked. */
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import { Recorded } from '../../../parts/recorded.tsx';
import { blockKey } from './block-key.ts';
import type { Reveal } from './folds.ts';
import { TalkContext, useTalk } from './talk-context.ts';
import './text-block.css';

const BlockContext = createContext('');

export function TextBlock({ of, children }: { of: string; children: ComponentChildren }) {
  const { folds } = useTalk();
  const isPlain = folds.plain.value.has(of);
  const format = () => {
    folds.plain.value = new Set([...folds.plain.value].filter((other) => other !== of));
  };
  return (
    <BlockContext.Provider value={of}>
      <div class="text-block" data-text={of}>
        {isPlain && (
          <button type="button" class="fold muted" onClick={format}>
            as it was recorded, for what was found · format it
          </button>
        )}
        {children}
      </div>
    </BlockContext.Provider>
  );
}

/** Whether the block is shown as it was recorded. Outside of Talk, as in the panel of a step, nothing is found in it. */
export function useIsPlain(): boolean {
  const talk = useContext(TalkContext);
  const key = useContext(BlockContext);
  return talk?.folds.plain.value.has(key) ?? false;
}

/** Calls `open` when a text of the block is gone to, and when the block changes thereafter. @param changes with the block */
export function useReveal(open: (reveal: Reveal) => void, changes: unknown): void {
  const talk = useContext(TalkContext);
  const key = useContext(BlockContext);
  const reveal = talk?.folds.reveal.value ?? null;
  useEffect(() => {
    if (reveal !== null && reveal.key === key) open(reveal);
  }, [reveal, key, changes]);
}

/** The provider's sentence about a step that failed. */
export const ErrorText = ({ span_id, text }: { span_id: string; text: string }) => (
  <span data-text={blockKey(span_id, 'error', 0)}>
    <Recorded text={text} />
  </span>
);
