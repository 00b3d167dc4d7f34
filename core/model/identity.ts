/** The identity of a call: what is known of its session before its messages are compared. */
import { z } from 'zod';

/**
 * The session a turn names by itself. `harness_session_id` is empty when neither envelope, harness nor protocol names it;
 * then the chain of messages decides at intake.
 */
export const Identity = z.object({
  harness_id: z.string(), // 'unknown' when none is named
  harness_session_id: z.string(),
  thread_id: z.string(), // '' is the main thread
  parent_harness_session_id: z.string().nullable(),
  parent_thread_id: z.string(), // '' when unknown
  harness_version: z.string(),
  cwd: z.string(),
  session_name: z.string(),
  harness_metadata: z.record(z.string(), z.unknown()).nullable(),
  agent_name: z.string(),
  project: z.string(),
  auth_subject: z.string(),
  continues_call_id: z.string().optional(), // the call whose answer this one goes on from, where the provider keeps the conversation
});
export type Identity = z.infer<typeof Identity>;
