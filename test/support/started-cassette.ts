/** A cassette of test/support/cassettes in a process of its own, with its log, in folders that nothing else uses. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Log } from '../../core/cassette/contract.ts';
import { type ProcessOptions, startProcess } from '../../core/cassette/isolation/process.ts';
import type { Bindings, RunningCassette, StartModule } from '../../core/cassette/running.ts';

export type LoggedLine = { level: string; fields: Record<string, unknown>; message: string };

export const cassettes = fileURLToPath(new URL('./cassettes/', import.meta.url));

export function recordedLog(): { log: Log; lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const at = (level: string) => (fields: Record<string, unknown>, message: string) => {
    lines.push({ level, fields, message });
  };
  return { log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }, lines };
}

type Started = {
  running: RunningCassette;
  lines: LoggedLine[];
  /** The folder of the cassette, and the folder that the service uses for it. */
  folder: string;
  tmp: string;
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** Requests a path and parses the response as JSON. */
  readJson(path: string, init?: RequestInit): Promise<Record<string, unknown>>;
};

export const emptyFolder = (): string => mkdtempSync(join(tmpdir(), 'cassette-'));

type Options = Partial<ProcessOptions> & { module?: Partial<StartModule>; handed?: Partial<Bindings>; folder?: string };

/** Starts it for the time of `use`, which closes it and looks after its folders. */
export async function withCassette(
  file: string,
  options: Options,
  use: (started: Started) => Promise<void>,
): Promise<void> {
  const { module, handed, folder = emptyFolder(), ...rest } = options;
  const tmp = emptyFolder();
  cpSync(join(cassettes, file), join(folder, file));
  const { log, lines } = recordedLog();
  try {
    const running = await startProcess(
      {
        name: 'tried',
        folder,
        entry: join(folder, file),
        network: false,
        log,
        bindingsFor: () => ({ DB: null, CORE: null, CONFIG: {}, LOG: log, ...handed }),
        ...module,
      },
      { tmp, ...rest },
    );
    try {
      const ask = (path: string, init?: RequestInit) => running.fetch(new Request(`http://localhost${path}`, init));
      const readJson = async (path: string, init?: RequestInit) => (await ask(path, init)).json();
      await use({ running, lines, folder, tmp, ask, readJson });
    } finally {
      await running.close(1_000);
    }
  } finally {
    for (const path of [tmp, folder]) rmSync(path, { recursive: true, force: true });
  }
}

/** The processes that have this folder in their command line. (Linux) */
export const pidsOf = (folder: string): number[] =>
  readdirSync('/proc')
    .filter((pid) => {
      try {
        return (
          /^\d+$/.test(pid) && pid !== `${process.pid}` && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder)
        );
      } catch {
        return false; // gone meanwhile
      }
    })
    .map(Number);

export const processesOf = (folder: string): number => pidsOf(folder).length;
