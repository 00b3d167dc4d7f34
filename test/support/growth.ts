/** A check that work grows no faster than its text: measured in processor time, on texts that repeat one piece. */

const SIZES = [1_250, 5_000, 20_000, 80_000] as const;
/** A quadratic pattern needs seconds for the longest text, a linear one far less than this. */
const SOON_MS = 40;
/** Quadratic work has taken a hundred times as long by then. */
const [LONG, CLEAR_MS] = [20_000, 5];
const LATE_MS = 1_500;
/** Of four times the text; quadratic work grows sixteenfold. */
const MOST_GROWTH = 10;

/** What is wrong with how long it takes; null: nothing. Shorter texts come first, so that what is found bad is found soon. */
export function growthProblem(work: (text: string) => unknown, before: string, piece: string): string | null {
  let last = 0;
  for (const size of SIZES) {
    const text = before + piece.repeat(Math.ceil(size / piece.length));
    const ms = leastMs(() => work(text), SOON_MS);
    if (ms > LATE_MS) return `${Math.round(ms)} ms for ${size} characters`;
    if (ms > SOON_MS && last > 1 && ms > last * MOST_GROWTH)
      return `${Math.round(ms)} ms for ${size} characters, ${Math.round(last)} ms for a quarter of them`;
    if (size >= LONG && ms < CLEAR_MS) return null;
    last = ms;
  }
  return null;
}

/** The fastest of some runs: other processes make a run slower, never faster. */
function leastMs(work: () => unknown, enough: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 4 && least > enough; run++) {
    const { user, system } = process.cpuUsage();
    work();
    const used = process.cpuUsage({ user, system });
    least = Math.min(least, (used.user + used.system) / 1_000);
  }
  return least;
}
