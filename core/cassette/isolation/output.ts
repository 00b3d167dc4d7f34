/** The output of a cassette's process, as lines in the log: at most so many a second, each cut, with a count of those that were dropped. */
import type { Readable } from 'node:stream';
import type { Log } from '../contract.ts';

export type OutputLimits = { linesPerSecond: number; lineChars: number; bytesPerSecond: number };

export const OUTPUT_LIMITS: OutputLimits = { linesPerSecond: 20, lineChars: 2_000, bytesPerSecond: 4_000_000 };

/** Rate limit for lines; logs once a second how many were dropped. Shared by all output of one cassette. */
export type Gate = { passes(): boolean; close(): void };

export function openGate(log: Log, { linesPerSecond }: OutputLimits): Gate {
  let left = linesPerSecond;
  let dropped = 0;
  const tick = () => {
    left = linesPerSecond;
    if (dropped > 0) log.warn({ dropped }, 'it writes more than is kept: lines were left out');
    dropped = 0;
  };
  const timer = setInterval(tick, 1_000).unref();
  return {
    passes() {
      if (left > 0) {
        left -= 1;
        return true;
      }
      dropped += 1;
      return false;
    },
    close() {
      clearInterval(timer);
      tick();
    },
  };
}

/**
 * Reads an output to its end at a limited rate: a process that floods it is blocked, and costs the service no time.
 * @returns `tail`: the end of what was printed, for the reason why the process ended
 */
export function readOutput(
  output: Readable,
  { log, gate, limits }: { log: (line: string) => void; gate: Gate; limits: OutputLimits },
): { tail(): string; hurry(): void } {
  let line = '';
  let tail = '';
  let hurried = false;
  let room = limits.bytesPerSecond / 10;
  const refill = setInterval(() => {
    room = limits.bytesPerSecond / 10;
    output.resume();
  }, 100).unref();
  const logLine = (text: string) => {
    const shown = text.trimEnd().slice(0, limits.lineChars);
    if (shown !== '' && gate.passes()) log(shown);
  };
  output.setEncoding('utf8');
  output.on('data', (text: string) => {
    room -= text.length;
    if (room <= 0 && !hurried) output.pause();
    tail = (tail + text).slice(-TAIL_CHARS);
    const lines = (line + text).split('\n');
    line = (lines.pop() ?? '').slice(0, limits.lineChars);
    for (const whole of lines) logLine(whole);
  });
  output.once('close', () => {
    clearInterval(refill);
    logLine(line);
  });
  output.on('error', () => {});
  return {
    tail: () => tail,
    /** The process has ended: what is left is little, and read at once. */
    hurry() {
      hurried = true;
      clearInterval(refill);
      output.resume();
    },
  };
}

const TAIL_CHARS = 8_000;
