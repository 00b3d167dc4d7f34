/** The text of a span for a row that shows it: what has come, and all of it where the row needs more than a preview. */
import { useEffect } from 'preact/hooks';
import type { Span } from '../../../../../model/span.ts';
import { useSession } from '../session-store.ts';
import type { StepFacts } from './step-facts.ts';

/** @param needsWhole whether a preview with this text is too little @returns undefined: it has not come yet */
export function useText(
  facts: StepFacts,
  needsWhole: (span: Span) => boolean,
): { span: Span; whole: boolean } | undefined {
  const { texts } = useSession();
  const text = texts.text(facts).value;
  const isShort = text !== undefined && !text.whole && needsWhole(text.span);
  useEffect(() => {
    if (isShort) texts.readWhole(facts).catch(() => undefined); // the window shows why reading fails
  }, [isShort, facts.span_id, facts.changed, texts.attempt.value]);
  return text && { span: text.span, whole: text.whole || !isShort };
}
