/** Numbers for people: with a unit, and no more digits than matter. */

const numbers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });

/** `12,345` */
export const counted = (count: number): string => numbers.format(count);

/** `1.2 MB`; a kilobyte is 1,000 bytes. */
export function sized(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const power = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const scaled = bytes / 1000 ** power;
  return `${numbers.format(scaled < 100 ? scaled : Math.round(scaled))} ${units[power]}`;
}

/** `3 s`, `4 min`, `2 h 5 min`, `3 days 4 h`. */
export function lasting(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const minutes = Math.floor(whole / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  const and = (rest: number, unit: string) => (rest === 0 ? '' : ` ${rest} ${unit}`);
  if (whole < 60) return `${whole} s`;
  if (minutes < 60) return `${minutes} min`;
  if (hours < 24) return `${hours} h${and(minutes % 60, 'min')}`;
  return `${days} ${days === 1 ? 'day' : 'days'}${and(hours % 24, 'h')}`;
}

/** `1 session`, `2 sessions`. */
export const several = (count: number, noun: string): string => `${counted(count)} ${noun}${count === 1 ? '' : 's'}`;

/** Foreign text made safe for a terminal: nothing in it can move the cursor, colour or hide text. */
export const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}');
