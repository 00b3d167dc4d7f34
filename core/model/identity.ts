/** Whose call is it? What is known of a turn's session, before content is asked. (DESIGN section 4, 'Identity'.) */
import { z } from 'zod';

/**
 * The session a turn names by itself. `harness_session_id` is empty when neither envelope, harness nor protocol says it;
 * then the chain of messages decides at intake.
 */
export const Identity = z.object({
  harness_id: z.string(), // 'unknown' when nobody says
  harness_session_id: z.string(),
  thread_id: z.string(), // '' is the main thread
  parent_harness_session_id: z.string().nullable(),
  parent_thread_id: z.string(), // '' when not told
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
