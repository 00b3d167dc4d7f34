/** Reads a secret: a line typed without echo, or all that comes through a pipe. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

const MOST_CHARACTERS = 4_096;

export async function hiddenInput(question: string): Promise<string> {
  if (!process.stdin.isTTY) return piped();
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return await new Promise<string>((typed) => {
      terminal.once('line', typed);
      terminal.once('SIGINT', () => typed(''));
      terminal.once('close', () => typed(''));
    });
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}

async function piped(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk as string;
    if (text.length > MOST_CHARACTERS) break; // too long for a key; the caller refuses it
  }
  return text;
}
