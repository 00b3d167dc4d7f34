/** The interface of a harness's transcripts on the disk: where they lie, whose they are, and the records in them. */
import type { Environment } from '../../config/environment.ts';
import type { Session } from '../../model/session.ts';

/** A line without its end, as it is in the file; or what stays of one that is longer than the service takes. */
export type Line = Buffer | CutLine;
export type CutLine = { cut: Buffer; fileBytes: number };

export const bytesOf = (line: Line): Buffer => (Buffer.isBuffer(line) ? line : line.cut);

export type Places = { env: Environment; home: string };

/** A file, or one session in a database of several. */
export type FoundTranscript = {
  /** Its file; of a session in a database that of the database, with the session behind a `#`. */
  path: string;
  bytes: number;
  mtimeMs: number;
  /** The code of the error; absent: it can be read, as far as is known. */
  unreadable?: string;
};

/** What is sent beside the records. */
export type TranscriptHead = {
  session: { harness_id: string; harness_session_id: string; parent_harness_session_id?: string };
  agent_id?: string;
  agent_type?: string;
  description?: string;
  tool_use_id?: string;
};

export type TranscriptSource = {
  /** As in `identity.harness_id`. */
  harness: string;
  /** As its makers write it. */
  name: string;
  /** The folders in which the harness keeps its transcripts, whether or not they exist. */
  folders(places: Places): string[];
  /** Why they cannot be read here; null, or absent: they can. */
  notRead?(places: Places): string | null;
  /** Of a harness whose calls name no session: whether a recorded session may be one of its transcripts. Absent: calls and files name the same. */
  isUnnamed?(session: Pick<Session, 'harness_id' | 'harness_metadata'>): boolean;
  /** The transcripts in them, without reading any. */
  find(places: Places): AsyncIterable<FoundTranscript>;
  /** What a copy of a file keeps of its name, such as the id of the session: of the files that share it the heads are compared. Absent: all. */
  sharedName?(path: string): string;
  /** null: the file is no transcript, as an empty one. */
  head(found: FoundTranscript): Promise<TranscriptHead | null>;
  /** The records up to the size at which it was found, many lines at a time. */
  lines(found: FoundTranscript): AsyncIterable<Line[]>;
};

/** `isCopy`: there is a newer file of the same transcript, so that this one is not sent. */
export type SweptFile = FoundTranscript & { source: TranscriptSource; isCopy?: boolean };
