/** The time of day for what is shown as 'so long ago'; it stands still while the page is hidden. */
import { signal } from '@preact/signals';

const TICK_MS = 10_000;

/** Milliseconds since 1970. */
export const now = signal(Date.now());

const tick = () => {
  if (document.visibilityState === 'visible') now.value = Date.now();
};

setInterval(tick, TICK_MS);
document.addEventListener('visibilitychange', tick);
