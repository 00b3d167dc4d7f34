/** The one line that a status bar shows of a session. */
import type { SessionLookup } from './recorded-session.ts';

type Shown = { lookup: SessionLookup; context_percent: number | null; hasColours: boolean };

/** Colours are for a status bar, which is no terminal: only NO_COLOR turns them off. */
export function shownLine({ lookup, context_percent, hasColours }: Shown): string {
  const paint = (code: number, text: string) => (hasColours ? `\u001b[${code}m${text}\u001b[0m` : text);
  if (lookup === 'down') return paint(RED, 'svc: not recorded');
  if (lookup === 'late') return paint(YELLOW, 'svc: no answer in time');
  if (lookup === 'unknown') return paint(YELLOW, 'svc: nothing recorded yet');
  const { cost_usd, tokens, context_tokens } = lookup;
  const context =
    context_percent === null ? context_tokens && `${short(context_tokens)} context` : percent(context_percent);
  return [
    `${paint(GREEN, '●')} svc`,
    cost_usd === null ? 'no price' : dollars(cost_usd),
    `${short(tokens)} tokens`,
    ...(context ? [paint(context_percent === null ? PLAIN : colourOf(context_percent), context)] : []),
  ].join(' · ');
}

const [PLAIN, RED, GREEN, YELLOW] = [39, 31, 32, 33];

const colourOf = (filled: number) => (filled >= 85 ? RED : filled >= 60 ? YELLOW : GREEN);

const percent = (filled: number) => `${Math.round(filled)}% context`;

/** `$0.0042`, `$0.21`, `$12.30`. */
const dollars = (cost: number): string => `$${cost > 0 && cost < 0.01 ? cost.toFixed(4) : cost.toFixed(2)}`;

/** `950`, `18.4k`, `1.2M`. */
function short(count: number): string {
  if (count < 1_000) return String(count);
  return count < 999_950 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}
