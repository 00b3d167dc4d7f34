/** A recorded value that is no text: indented JSON while it is short, rows that open and close where it is long. */
import { Formatted } from '../../../parts/formatted.tsx';
import { JsonRows } from '../../../parts/json-rows.tsx';
import { PlainText } from '../../../parts/plain-text.tsx';
import { jsonText, textsIn } from './recorded-text.ts';
import { useIsPlain } from './text-block.tsx';

const SHORT = 8_000;

export function RecordedValue({ value }: { value: unknown }) {
  const isPlain = useIsPlain();
  const text = jsonText(value);
  if (isPlain) return <PlainText text={textsIn(value).join('\n')} isMono />;
  return text !== null && text.length <= SHORT ? <Formatted kind="json" text={text} /> : <JsonRows value={value} />;
}
