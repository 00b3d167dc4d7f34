/** What a person set for this browser: theme, density, and whether single letters are commands. */
import { computed, effect, type Signal, signal } from '@preact/signals';

export type Theme = 'auto' | 'light' | 'dark';
export type Density = 'comfortable' | 'compact';

export const theme = stored<Theme>('svc-theme', ['auto', 'light', 'dark']);
export const density = stored<Density>('svc-density', ['comfortable', 'compact']);
export const letterKeys = stored<'on' | 'off'>('svc-letter-keys', ['on', 'off']);

const dark = matchMedia('(prefers-color-scheme: dark)');
const isDark = signal(dark.matches);
dark.addEventListener('change', () => {
  isDark.value = dark.matches;
});

/** What the colours on screen depend on: whoever draws by hand draws again when it is another. */
export const colours = computed(() => `${theme.value} ${isDark.value}`);

/** Shows theme and density on the document, now and whenever they change. */
export const showPreferences = (): (() => void) =>
  effect(() => {
    const { dataset } = document.documentElement;
    dataset.theme = theme.value;
    dataset.density = density.value;
  });

/** A signal that lasts. @param values the first is what it is until somebody chooses */
function stored<Value extends string>(place: string, values: readonly [Value, ...Value[]]): Signal<Value> {
  const found = read(place);
  const preference = signal<Value>(values.find((value) => value === found) ?? values[0]);
  let first = true;
  effect(() => {
    const { value } = preference;
    if (!first) write(place, value);
    first = false;
  });
  return preference;
}

function read(place: string): string | null {
  try {
    return localStorage.getItem(place);
  } catch {
    return null; // storage is switched off: a choice lasts as long as the page
  }
}

function write(place: string, value: string): void {
  try {
    localStorage.setItem(place, value);
  } catch {
    // as above
  }
}
