/** What the commands of a group share; a command's own code is loaded when it is called. */
import type { LoadedConfig } from '../config/load.ts';
import type { Io } from './io.ts';

export type CommandParts = {
  version: string;
  io: Io;
  /** The configuration with the flags among what commander parsed. */
  loaded: (parsed: Record<string, unknown>) => LoadedConfig;
  /** Sets the exit status of the process. */
  exit: (status: number) => void;
};
