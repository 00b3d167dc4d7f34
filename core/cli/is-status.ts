/** Tells whether a body is the status of the read API. */
import type { Status } from '../model/status.ts';

/** Checks only the members that the page reads. The schema itself would load half of the server. */
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
