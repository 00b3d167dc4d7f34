/** A recorded text with its format. It is plain until the worker has parsed it, and stays plain where that takes too long. */
import { useEffect, useState } from 'preact/hooks';
import { textFormatter } from '../worker/formatter.ts';
import { startTextWorker } from '../worker/start-text-worker.ts';
import type { TextKind, TextTokens } from '../worker/tokens.ts';
import { DiffView } from './diff-view.tsx';
import { MarkdownView } from './markdown-view.tsx';
import { PlainText } from './plain-text.tsx';
import { RunsView } from './runs-view.tsx';
import { tokenCache } from './token-cache.ts';
import './formatted.css';

type FormattedProps = {
  kind: TextKind;
  text: string;
  /** Of code. */
  language?: string;
  /** Of a diff; without it `text` is a unified diff. */
  before?: string;
};

/** More is shown plain, with a button. */
const LONGEST = 100_000;

const formatter = textFormatter(startTextWorker);
const cache = tokenCache(500);

type Parsed = { of: string; tokens: TextTokens | null };

export function Formatted({ kind, text, language, before }: FormattedProps) {
  const [isForced, force] = useState(false);
  const [parsed, setParsed] = useState<Parsed | null>(null);
  const isLong = text.length + (before?.length ?? 0) > LONGEST;
  const request = { kind, text, language, before };
  const stored = cache.get(request);
  useEffect(() => {
    setParsed(null);
    if (stored || (isLong && !isForced)) return;
    return formatter.format(request, (tokens) => {
      if (tokens) cache.set(request, tokens);
      setParsed({ of: text, tokens });
    });
  }, [kind, text, language, before, isForced]);
  const own = parsed?.of === text ? parsed : null; // not of the text before, while the new one is parsed
  const tokens = stored ?? own?.tokens ?? null;
  if (tokens) return <View tokens={tokens} />;
  return (
    <>
      <PlainText text={text} isMono={kind !== 'markdown'} />
      {isLong && !isForced && (
        <button type="button" onClick={() => force(true)}>
          Format this text
        </button>
      )}
      {own && kind !== 'json' && <p class="muted">Too complex to format, so it is shown as it is.</p>}
    </>
  );
}

function View({ tokens }: { tokens: TextTokens }) {
  if (tokens.kind === 'markdown') return <MarkdownView blocks={tokens.blocks} />;
  if (tokens.kind === 'diff') return <DiffView lines={tokens.lines} />;
  return <RunsView runs={tokens.runs} />;
}
