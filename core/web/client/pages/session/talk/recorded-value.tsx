/** A recorded value that is no text: indented JSON while it is short, rows that open and close where it is long. */
import { Formatted } from '../../../parts/formatted.tsx';
import { JsonRows } from '../../../parts/json-rows.tsx';
import { jsonText } from './recorded-text.ts';

const SHORT = 8_000;

export function RecordedValue({ value }: { value: unknown }) {
  const text = jsonText(value);
  return text !== null && text.length <= SHORT ? <Formatted kind="json" text={text} /> : <JsonRows value={value} />;
}
