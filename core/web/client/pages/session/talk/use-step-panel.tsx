/** What stands beside the conversation: the panel of a step, or the ways to copy it. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Span } from '../../../../../model/span.ts';
import { Boundary } from '../../../parts/boundary.tsx';
import { late } from '../../../parts/late.tsx';
import { showToast } from '../../../parts/toast.tsx';
import { type OutlineColumns, spanIndex } from '../../../store/outline-columns.ts';
import { outlineIndex } from '../../../store/outline-index.ts';
import type { SpanWindow, WantedSpan } from '../../../store/span-window.ts';
import { useSession } from '../session-store.ts';
import { wantedSpan } from './wanted-texts.ts';

const SpanPanel = late(() => import('../span-panel/span-panel.tsx'), 'SpanPanel');
const CopyDialog = late(() => import('../span-panel/copy-dialog.tsx'), 'CopyDialog');

type Input = { columns: OutlineColumns; texts: SpanWindow; goTo: (span: number) => boolean };

export function useStepPanel({ columns, texts, goTo }: Input) {
  const { id } = useSession();
  const [open, setOpen] = useState<WantedSpan | null>(null);
  const [copied, setCopied] = useState<Span | null>(null);
  const shown = open ? spanIndex(columns, open.trace_id, open.span_id) : -1; // by its ids: other columns may number spans anew
  const show = (span: number) => setOpen(wantedSpan(columns, span));
  const select = (span: number) => {
    show(span);
    goTo(span);
  };
  const view: ComponentChildren = (
    <Boundary>
      {shown >= 0 && (
        <SpanPanel
          {...{ columns, index: outlineIndex(columns), span: shown, onSelect: select, onClose: () => setOpen(null) }}
        />
      )}
      {copied && <CopyDialog sessionId={id} span={copied} ids={copied} onClose={() => setCopied(null)} />}
    </Boundary>
  );
  return {
    view,
    open: (span: number): boolean => {
      show(span);
      return true;
    },
    copy: (span: number): boolean => {
      texts
        .readWhole(wantedSpan(columns, span))
        .then(setCopied, (error: unknown) =>
          showToast(error instanceof Error ? error.message : 'The step could not be read'),
        );
      return true;
    },
  };
}
