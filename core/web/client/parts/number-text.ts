/** Numbers as people read them: short, with their unit. */

/** At least one figure that is not a zero, as long as there is one. */
export function costText(usd: number): string {
  if (usd === 0) return '$0';
  const size = Math.abs(usd);
  const digits = size >= 0.1 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(size)));
  const [whole = '', fraction] = size.toFixed(Math.max(2, digits)).split('.');
  if (size < 0.000_001) return usd < 0 ? '−<$0.000001' : '<$0.000001';
  return `${usd < 0 ? '−' : ''}$${grouped(Number(whole))}.${fraction}`;
}

/** Every digit, in groups of three. By hand: a list of numbers in two forms would have the browser make a formatter for each of them. */
export function grouped(count: number): string {
  const [whole = '', ...fraction] = String(Math.abs(count)).split('.');
  let text = whole;
  for (let at = text.length - 3; at > 0; at -= 3) text = `${text.slice(0, at)},${text.slice(at)}`;
  return [count < 0 ? `-${text}` : text, ...fraction].join('.');
}

/** A moment to the second, in the reader's time: for tooltips, of which a list has many. @param ms since 1970 */
export function momentText(ms: number): string {
  const at = new Date(ms);
  const two = (part: number) => String(part).padStart(2, '0');
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-');
  return `${day} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')}`;
}

export function countText(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 10_000) return grouped(count);
  return scaled(count, 1_000, ['k', 'M', 'G', 'T']);
}

export function bytesText(bytes: number): string {
  return bytes < 1_000 ? `${bytes} B` : scaled(bytes, 1_000, [' kB', ' MB', ' GB', ' TB']);
}

/** @param us microseconds */
export function durationText(us: number): string {
  if (us < 1_000) return `${Math.round(us)} µs`;
  if (us < 999_500) return `${Math.round(us / 1_000)} ms`;
  if (us < 59_950_000) return `${(us / 1_000_000).toFixed(1)} s`;
  const seconds = Math.round(us / 1_000_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
  return `${Math.round(minutes / 1_440)} days`;
}

/** How long ago, in a word. @param ms between then and now */
export function agoText(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 10) return 'now';
  if (seconds < 60) return `${seconds}s ago`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h ago`;
  return `${Math.floor(seconds / 86_400)}d ago`;
}

function scaled(value: number, step: number, units: readonly string[]): string {
  let scale = value / step;
  let unit = 0;
  while (scale >= step - 0.5 && unit < units.length - 1) {
    scale /= step;
    unit += 1;
  }
  return `${scale < 9.95 ? scale.toFixed(1) : Math.round(scale)}${units[unit]}`;
}
