/** Numbers for people: with a unit, and no more digits than matter. Without Intl, which takes longer to load than a command may. */

/** `12,345`, `0.5` */
export function counted(count: number): string {
  const [whole = '', tenths] = String(Math.round(count * 10) / 10).split('.');
  const digits = whole.replace('-', '');
  const groups: string[] = [];
  for (let end = digits.length; end > 0; end -= 3) groups.unshift(digits.slice(Math.max(0, end - 3), end));
  return (count < 0 ? '-' : '') + groups.join(',') + (tenths === undefined ? '' : `.${tenths}`);
}

/** `1.2 MB`; a kilobyte is 1,000 bytes. */
export function sized(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const power = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const scaled = bytes / 1000 ** power;
  return `${counted(scaled < 100 ? scaled : Math.round(scaled))} ${units[power]}`;
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

/** `950`, `184k`, `2.4M`. */
export function shortCount(count: number): string {
  const [scaled, unit] = count < 1000 ? [count, ''] : count < 999_500 ? [count / 1000, 'k'] : [count / 1e6, 'M'];
  return `${unit === '' || scaled >= 10 ? Math.round(scaled) : Math.round(scaled * 10) / 10}${unit}`;
}

/** `$0.2134`: four decimals below a dollar, else two; `?` where no price is known. */
export const dollars = (usd: number | null | undefined): string =>
  usd === null || usd === undefined ? '?' : `$${usd === 0 ? '0' : usd.toFixed(usd < 1 ? 4 : 2)}`;

/** `5 min ago`; of more than a week the day. @param now milliseconds since 1970 */
export function shortAge(instant: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(instant)) / 1000);
  if (seconds >= 7 * 86_400) return instant.slice(0, 10);
  const [size, unit] =
    seconds < 60 ? [1, 's'] : seconds < 3600 ? [60, 'min'] : seconds < 86_400 ? [3600, 'h'] : [86_400, 'd'];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

/** `1 session`, `2 sessions`. */
export const several = (count: number, noun: string): string => `${counted(count)} ${noun}${count === 1 ? '' : 's'}`;

/** Foreign text made safe for a terminal: nothing in it can move the cursor, colour or hide text. Letters and emoji stay joined. */
export const plain = (text: string): string =>
  text.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}');

/** The lines of a foreign text, each made safe for a terminal; a tab is four blanks. */
export const plainLines = (text: string): string[] =>
  text
    .replaceAll('\t', '    ')
    .split(/\r\n|\n|\r/)
    .map(plain);
