/** The keys of Talk. */
import type { KeyCommands } from '../../../key-strokes.ts';
import { useKeys } from '../../../keys.ts';
import { copyText } from '../../../parts/copy-text.ts';
import { showToast } from '../../../parts/toast.tsx';
import type { FoldKind, Folds } from './folds.ts';
import type { JumpTarget } from './row-jumps.ts';

type Commands = {
  folds: Folds;
  jump: (target: JumpTarget, step: 1 | -1) => boolean;
  toggleRow: () => boolean;
  showEnd: () => void;
  showStart: () => void;
  rowText: () => Promise<string | null>;
  showDetails: () => boolean;
  copyAs: () => boolean;
};

export function useTalkKeys(commands: Commands): void {
  const { folds, jump, toggleRow, showEnd, showStart, rowText, showDetails, copyAs } = commands;
  const to = (does: string, target: JumpTarget, step: 1 | -1, none: string) => ({
    does,
    run: () => {
      if (!jump(target, step)) showToast(none);
    },
  });
  const all = (does: string, kind: FoldKind, words: string) => ({
    does,
    run: () => showToast(folds.toggleAll(kind) ? `All ${words} open` : `All ${words} folded`),
  });
  const keys: KeyCommands = {
    j: { does: 'next row', run: () => jump('any', 1) },
    k: { does: 'row before', run: () => jump('any', -1) },
    Enter: { does: 'open or fold the row', run: toggleRow },
    o: { does: 'open or fold the row', run: toggleRow },
    G: { does: 'to the end', run: showEnd },
    End: { does: 'to the end', run: showEnd },
    Home: { does: 'to the beginning', run: showStart },
    l: { does: 'follow the end', run: showEnd },
    '[': to('call before', 'call', -1, 'No call before'),
    ']': to('next call', 'call', 1, 'No call after'),
    '{': to('prompt before', 'prompt', -1, 'No prompt before'),
    '}': to('next prompt', 'prompt', 1, 'No prompt after'),
    e: to('next error', 'error', 1, 'No error after'),
    E: to('error before', 'error', -1, 'No error before'),
    m: to('next compaction', 'compaction', 1, 'No compaction after'),
    M: to('compaction before', 'compaction', -1, 'No compaction before'),
    a: to('next sub-agent', 'agent', 1, 'No sub-agent after'),
    A: to('sub-agent before', 'agent', -1, 'No sub-agent before'),
    t: all('open or fold all thinking', 'thinking', 'thinking'),
    f: all('open or fold all tools', 'tool', 'tools'),
    b: {
      does: 'show or hide calls beside the conversation',
      run: () => {
        folds.beside.value = !folds.beside.value;
      },
    },
    i: { does: 'details of the step: links, usage, its call', run: showDetails },
    Y: { does: 'copy as …', run: copyAs },
    y: {
      does: 'copy the text of the row',
      run: () => {
        void rowText().then((text) => (text === null ? undefined : copyText(text, 'Copied')));
      },
    },
  };
  useKeys(keys, { scope: 'Talk' });
}
