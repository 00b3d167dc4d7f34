/** The records of a journal: what a call leaves behind as it passes, in the order in which it happens. */
import { z } from 'zod';
import { Ending, Outcome } from '../model/coverage.ts';
import { HeaderList } from '../model/headers.ts';
import { FormatId } from '../provider/formats.ts';
import { ProviderId } from '../provider/provider-ids.ts';

/** An instant with microseconds, UTC: `2026-11-21T09:30:00.123456Z`. */
export const Instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);

/** The request's head, written before the first byte goes upstream. Credentials have been replaced already. */
export const CallOpened = z.object({
  svc_proxy_request_id: z.string(), // UUIDv7, so it sorts by time
  requested_at: Instant,
  provider: ProviderId, // whose upstream takes the call
  format: FormatId,
  method: z.string(),
  url: z.string(), // path and query as the client sent them, with credentials replaced
  headers: HeaderList, // as sent, `x-svc-*` included, credentials replaced
  client_digest: z.string().optional(), // hex; of credential, user agent and project. Records of version 0.1 have none
  client_key: z.string(), // hex; the client's key as version 0.1 made it, for its sessions; '' where that version never ran
  project: z.string(), // of the configuration; an envelope header outranks it
  keep: z.enum(['full', 'metadata']), // metadata: no body bytes are written
});
export type CallOpened = z.infer<typeof CallOpened>;

export const ResponseHead = z.object({ status: z.int(), headers: HeaderList, first_byte_at: Instant });
export type ResponseHead = z.infer<typeof ResponseHead>;

export const CallClosed = z.object({
  ending: Ending,
  last_byte_at: Instant,
  request_bytes: z.int(), // that passed, stored or not
  response_bytes: z.int(),
  cut: z.enum(['none', 'request', 'response']), // the body whose copy is not complete
  over_limit: z.boolean(), // the request was larger than capture.max_body_bytes
});
export type CallClosed = z.infer<typeof CallClosed>;

/** A request that is no turn: only its outcome is stored. */
export const OutcomeRecord = z.object({ at: Instant, provider: ProviderId, outcome: Outcome });
export type OutcomeRecord = z.infer<typeof OutcomeRecord>;

/** One call, reassembled from its records. `closed` is null when the run ended first: then the call ended as `crashed`. */
export type JournalCall = {
  opened: CallOpened;
  request: Uint8Array;
  responseHead: ResponseHead | null;
  response: Uint8Array;
  closed: CallClosed | null;
};

/** How far a journal has been read: the end of the last record of the last call delivered. */
export type JournalPosition = { run_id: string; segment: number; byte_offset: number; finished: boolean };
