/** The keys of the list of sessions. */
import type { KeyCommands } from '../../key-strokes.ts';

type Moves = {
  count: number;
  /** -1: none has the focus. */
  index: number;
  focus: (index: number) => void;
  showNew: () => void;
  act: (action: 'open' | 'rename' | 'remove' | 'copy' | 'star' | 'select') => void;
};

export function listKeys({ count, index, focus, showNew, act }: Moves): KeyCommands {
  const move = (to: number) => (event: KeyboardEvent) => {
    if (count === 0 || isBeside(event.target)) return false;
    focus(Math.min(count - 1, Math.max(0, to)));
    return true;
  };
  const on = (action: Parameters<Moves['act']>[0]) => (event: KeyboardEvent) => {
    if (index === -1 || isBeside(event.target)) return false;
    act(action);
    return true;
  };
  return {
    j: { does: 'next session', run: move(index + 1) },
    k: { does: 'session before', run: move(index - 1) },
    ArrowDown: { does: 'next session', run: move(index + 1) },
    ArrowUp: { does: 'session before', run: move(index - 1) },
    Home: { does: 'first session', run: move(0) },
    End: { does: 'last session shown', run: move(count - 1) },
    G: { does: 'last session shown', run: move(count - 1) },
    Enter: { does: 'open', run: on('open') },
    x: { does: 'select', run: on('select') },
    r: { does: 'rename', run: on('rename') },
    Delete: { does: 'delete', run: on('remove') },
    c: { does: 'copy link', run: on('copy') },
    s: { does: 'star', run: on('star') },
    n: {
      does: 'show new sessions',
      run: () => {
        showNew();
      },
    },
  };
}

/** The controls above the list have their own use for arrows. */
const isBeside = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('.filter-bar, .session-tools') !== null;
