/** What is stored of a call: a turn that has been read and sliced, or a request that is only counted. */
import type { Ending, Outcome } from '../model/coverage.ts';
import type { Identity } from '../model/identity.ts';
import type { Unplaced } from './placement.ts';

/** What is stored of a turn. Hashes and ids are hex; `template` and `slice` name slices of the batch or stored ones. */
export type TurnRecord = {
  call_id: string; // one of the next two
  svc_proxy_request_id: string | null; // assigned by the proxy
  request_id: string | null; // of a record that did not pass the proxy; one of the two is set
  client_key: string; // hex; '' for a record without a client
  identity: Identity;
  outcome: Outcome;
  ending: Ending;
  provider: string;
  format: string;
  method: string;
  url: string;
  status: number | null;
  requested_at: string;
  first_byte_at: string | null;
  last_byte_at: string | null;
  request_headers: { template: string; values: string[]; digest: string };
  response_headers: { template: string; values: string[]; digest: string } | null;
  request: { roots: string[]; depth: number; bytes: number; digest: string; is_utf8: boolean };
  response: { slice: string | null; bytes: number; digest: string | null };
  meta: Record<string, unknown>;
};

/** A call that has been read and sliced. */
export type PreparedTurn = Unplaced & TurnRecord;

/** A request that is no turn. `at` is an instant of the day, UTC. */
export type CountedRequest = { at: string; provider: string; outcome: Outcome };
