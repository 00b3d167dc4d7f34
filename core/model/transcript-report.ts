/** The report of reading a session's transcripts: counts of what derivation made of them. */

export type TranscriptReport = {
  files: number; // of threads
  records: number;
  projected_records: number;
  omitted_records: number;
  omitted_types: Record<string, number>;
  suppressed_by_wire: number; // files whose calls are taken from the wire
  subagent_files: number;
  interacted_rows: number; // of threads that were entered again
};
