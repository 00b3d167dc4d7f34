/** A transcript: a file that a harness keeps of its own session, as a trusted client uploads it. */

/** One file, put together of all its parts: the latest whole version of its identity. */
export type TranscriptFile = {
  harness_id: string;
  harness_session_id: string;
  main: boolean; // the main thread's file; else a sub-agent's, or a record of how one was spawned
  agent_id: string; // of the sub-agent, which is its thread's id; '' of the main file
  agent_type: string;
  description: string;
  tool_use_id: string; // of the tool call that spawned the sub-agent; '' when unknown
  lifecycle_kind: string; // '' and `started` are spawn evidence; `interacted`, `completed` and others are not
  raw_turn_id: number; // of the last part
  received_at: string;
  records: unknown[]; // as sent, in order; a line that was no JSON is a string
};
