/** The panel of a span: what went in and came out, what it is linked to, what it cost, and its ids. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAddress } from '../../../address.ts';
import { useKeys } from '../../../keys.ts';
import { copyText } from '../../../parts/copy-text.ts';
import { Icon } from '../../../parts/icon.tsx';
import { Problem } from '../../../parts/problem.tsx';
import { Recorded } from '../../../parts/recorded.tsx';
import { StatusMark } from '../../../parts/status-mark.tsx';
import { type OutlineColumns, spanIndex } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';
import type { WantedSpan } from '../../../store/span-window.ts';
import { callPath } from '../call/call-path.ts';
import { useSession } from '../session-store.ts';
import { Blocks } from './block-view.tsx';
import { CopyDialog } from './copy-dialog.tsx';
import { LinkList } from './link-list.tsx';
import { SpanFacts } from './span-facts.tsx';
import { followed, spanLinks } from './span-links.ts';
import { blocksText } from './span-text.ts';
import './span-panel.css';

type SpanPanelProps = {
  columns: OutlineColumns;
  index: OutlineIndex;
  span: number;
  onSelect: (span: number) => void;
  onClose: () => void;
};

export function SpanPanel({ columns, index, span, onSelect, onClose }: SpanPanelProps) {
  const { go } = useAddress();
  const { id: session_id, texts } = useSession();
  const { spans, traces, names } = columns;
  const trace_id = traces.trace_id[spans.trace[span] ?? -1] ?? '';
  const span_id = spans.span_id[span] ?? '';
  const wanted = { trace_id, span_id, seq: spans.seq[span] ?? 0, changed: spans.changed[span] ?? 0 };
  const [failure, setFailure] = useState<unknown>(null);
  const [copying, setCopying] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const cameFrom = useRef<WantedSpan | null>(null);
  const text = texts.text(wanted).value;
  const whole = text?.whole ? text.span : null;

  useEffect(() => {
    let current = true;
    setFailure(null);
    texts.readWhole(wanted).catch((error: unknown) => current && setFailure(error));
    return () => {
      current = false;
    };
  }, [trace_id, span_id, wanted.changed, attempt]);

  const links = spanLinks(columns, index, span);
  const follow = () => {
    const from = cameFrom.current;
    const link = followed(links, from ? spanIndex(columns, from.trace_id, from.span_id) : -1);
    if (!link) return false;
    cameFrom.current = wanted;
    onSelect(link.span);
    return true;
  };
  const toContext = () => {
    const raw = spans.raw_turn_id[span] ?? Number.NaN;
    if ((index.callOf[span] ?? -1) < 0 || Number.isNaN(raw)) return false;
    go(callPath(session_id, raw, 'context'));
    return true;
  };
  useKeys(
    {
      ',': { does: 'follow the last link, and come back', run: follow },
      y: { does: 'copy the text', run: () => (whole ? void copyText(blocksText(whole.output, whole.input)) : false) },
      w: { does: 'why these tokens: the context of its call', run: toContext },
      Y: { does: 'copy as …', run: () => setCopying(true) },
      Escape: { does: 'close the step', run: onClose },
    },
    { scope: 'Step' },
  );
  const kind = names[spans.kind[span] ?? 0] ?? '';
  const status = names[spans.status[span] ?? 0] ?? '';
  return (
    <section class="span-panel" aria-label="The step" data-panel={span_id} data-kind={kind} data-status={status}>
      <header>
        <h2>
          <Recorded text={names[spans.name[span] ?? 0] ?? ''} />
        </h2>
        <StatusMark status={status} />
        <button type="button" aria-keyshortcuts="Shift+Y" title="Copy as … (Y)" onClick={() => setCopying(true)}>
          <Icon name="copy" /> Copy as …
        </button>
        <button type="button" class="plain" aria-label="Close the step" title="Close (Esc)" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="span-panel-body">
        {whole?.error_message && (
          <p class="span-error">
            <Recorded text={whole.error_message} />
          </p>
        )}
        <LinkList columns={columns} links={links} onSelect={onSelect} />
        <SpanFacts columns={columns} index={index} span={span} whole={whole} sessionId={session_id} />
        {failure !== null && <Problem error={failure} onRetry={() => setAttempt(attempt + 1)} />}
        {whole && <Blocks title={kind === 'tool' ? 'Input' : 'In'} blocks={whole.input} />}
        {whole && <Blocks title={kind === 'tool' ? 'Result' : 'Out'} blocks={whole.output} />}
        {!whole && failure === null && <p class="muted">Reading its text …</p>}
      </div>
      {copying && (
        <CopyDialog sessionId={session_id} span={whole ?? null} ids={wanted} onClose={() => setCopying(false)} />
      )}
    </section>
  );
}
