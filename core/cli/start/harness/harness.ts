/** The interface of a harness that `svc start` runs: how it is pointed at the proxy, by its environment and arguments alone. */
import type { Environment } from '../../../config/environment.ts';
import type { ProviderId } from '../../../provider/provider-ids.ts';

export type StartContext = {
  /** The proxy's address, as `http://127.0.0.1:8080`. */
  proxy: string;
  /** Where the proxy forwards to, by provider. */
  upstreams: Readonly<Record<ProviderId, string>>;
  /** The environment, arguments and folders of the person who starts it. */
  env: Environment;
  args: readonly string[];
  cwd: string;
  home: string;
  /** Where an administrator's settings of the harness are; default: where they are on this system. */
  managedFolder?: string;
  /** Headers for each call, by which its session is found afterwards. (envelope.ts) */
  envelope: Readonly<Record<string, string>>;
  /** Writes a file that is removed after the run. @returns its path */
  writeFile(name: string, content: string): string;
};

export type Launch = {
  /** Variables that are set for the harness. */
  env: Record<string, string>;
  /** Before the person's own arguments. */
  args: string[];
  /** Whether its calls carry the envelope. */
  hasEnvelope: boolean;
  /** Sentences for the person, such as that some of its calls are not recorded. */
  remarks: string[];
};

/** Why it is started without being recorded, as the end of 'Not recorded: …'. */
export type Unrecorded = { unrecorded: string };

export type StartedHarness = {
  /** The command: `claude`. */
  command: string;
  /** For people: `Claude Code`. */
  name: string;
  /** In the record; null: any. */
  harnessId: string | null;
  /**
   * Whether its transcripts are sent while it runs: which sub-agent a tool call started is in them alone. Only where its calls name the
   * session that the transcripts name, so that each session is one. Absent: no. It may throw where the file is gone.
   */
  isOwnTranscript?: (path: string, run: Pick<StartContext, 'cwd' | 'args'>) => boolean | Promise<boolean>;
  /** @throws {OperatorError} one of its settings files cannot be read, so that an address in it would be lost */
  launch(context: StartContext): Launch | Unrecorded;
};
