/** What did reading a session's transcripts find? Counts, for whoever asks what derivation has made of them. */

export type TranscriptReport = {
  files: number; // of threads
  records: number;
  projected_records: number;
  omitted_records: number;
  omitted_types: Record<string, number>;
  suppressed_by_wire: number; // files whose calls are told by the wire
  subagent_files: number;
  interacted_rows: number; // of threads that were entered again
};
