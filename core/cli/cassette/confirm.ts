/** Does whoever sits at the terminal agree? Only a plain yes is one. */
import { createInterface } from 'node:readline/promises';

/** null: nobody sits there. */
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
