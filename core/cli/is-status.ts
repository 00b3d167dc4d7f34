/** Is this the status that the read API gives? */
import type { Status } from '../model/status.ts';

/** What the page walks through. The schema itself would bring half of the server along. */
export const isStatus = (body: unknown): body is Status => {
  const members = body as Partial<Record<keyof Status, unknown>> | null | undefined;
  return (
    typeof members?.version === 'string' &&
    typeof members.uptime_seconds === 'number' &&
    [members.database, members.counts, members.derive, members.parked_turns, members.coverage].every(
      (member) => typeof member === 'object' && member !== null,
    ) &&
    Array.isArray(members.parked_sessions) &&
    Array.isArray(members.estimated)
  );
};
