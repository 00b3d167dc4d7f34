/** What passed between a client and a provider: the same facts whoever made the copy, the proxy's journal or a sender's own capture. */

import type { Ending } from '../model/coverage.ts';
import type { HeaderList } from '../model/headers.ts';
import type { FormatId } from '../provider/formats.ts';

/** Instants are UTC with microseconds; bodies are as they passed, still under their content coding. */
export type Exchange = {
  svc_proxy_request_id: string | null; // assigned by the proxy
  request_id: string | null; // of an ingested turn; one of the two ids is set
  client_key: string; // hex
  former_client_key?: string; // hex; the key under which version 0.1 stored the client, where it may have
  provider: string;
  format: FormatId | null; // null: none that we can read
  method: string;
  url: string;
  status: number | null; // null: no response came
  ending: Ending;
  requested_at: string;
  first_byte_at: string | null;
  last_byte_at: string | null;
  request: Uint8Array;
  request_bytes: number; // that passed, stored or not
  request_headers: HeaderList;
  response: Uint8Array;
  response_bytes: number;
  response_headers: HeaderList | null; // null: no response came
  keep: 'full' | 'metadata'; // metadata: no body bytes were stored
  whole: boolean; // both bodies were stored completely, as far as `keep` requires
  over_limit?: boolean; // its request was larger than what may be stored
  meta: Record<string, unknown>; // stored beside what reading yields
};

/** The call's own id, by which its rows and spans are named. */
export const callIdOf = ({ svc_proxy_request_id, request_id }: Pick<Exchange, 'svc_proxy_request_id' | 'request_id'>) =>
  svc_proxy_request_id ?? request_id ?? '';
