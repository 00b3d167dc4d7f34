/** A yes-or-no question on the terminal. Only a plain yes counts as one. */
import { createInterface } from 'node:readline/promises';

/** null: input or output is no terminal. */
export function terminalConfirm(): ((question: string, signal: AbortSignal) => Promise<boolean>) | null {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return null;
  return async (question, signal) => {
    const terminal = createInterface({ input: process.stdin, output: process.stdout });
    try {
      const ended = new Promise<string>((resolve) => {
        terminal.once('SIGINT', () => resolve(''));
        terminal.once('close', () => resolve(''));
      });
      const answer = await Promise.race([terminal.question(question, { signal }), ended]);
      return /^\s*y(?:es)?\s*$/i.test(answer);
    } finally {
      terminal.close();
    }
  };
}
