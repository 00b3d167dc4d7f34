/** Progress on stderr for what takes longer than a second: one line that is written over, and nothing where no person looks. */
export type ProgressLine = {
  /** `done` of `total`, in units of the caller; total 0: unknown. */
  show(text: string, done: number, total: number): void;
  /** Takes the line away. */
  clear(): void;
};

const [FIRST_MS, NEXT_MS, BAR] = [1_000, 200, 24];

/** @param write null: there is no terminal */
export function openProgress(
  write: ((text: string) => void) | null,
  now: () => number = () => performance.now(),
): ProgressLine {
  let due = now() + FIRST_MS;
  let isShown = false;
  return {
    show(text, done, total) {
      if (write === null || now() < due) return;
      due = now() + NEXT_MS;
      isShown = true;
      write(`\r\u001b[2K${bar(done, total)}${text}`);
    },
    clear() {
      if (isShown) write?.('\r\u001b[2K');
      isShown = false;
    },
  };
}

/** Whether a person sees what is written to stderr. */
export const terminalProgress = (err: (text: string) => void): ProgressLine =>
  openProgress(process.stderr.isTTY === true ? err : null);

function bar(done: number, total: number): string {
  if (total <= 0) return '';
  const share = Math.min(1, Math.max(0, done / total));
  const full = Math.round(share * BAR);
  return `${'█'.repeat(full)}${'░'.repeat(BAR - full)} ${Math.floor(share * 100)} % `;
}
