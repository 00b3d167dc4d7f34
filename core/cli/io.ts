/** The input and output of a command: its streams, environment and folders. */
import type { Environment } from '../config/environment.ts';

/** Results go to `out`, all else to `err`. */
export type Io = {
  out: (text: string) => void;
  err: (text: string) => void;
  /** Whether a person reads `out`, and nothing stores it. Absent: not so. */
  isTerminal?: boolean;
  /** Of that terminal, in cells. Absent: not known. */
  columns?: number;
  /** Whether a person can type what a command waits for. Absent: not so. */
  isInteractive?: boolean;
  env: Environment;
  cwd: string;
  home: string;
};
