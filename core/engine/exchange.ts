/** What passed between a client and a provider? The same facts whoever kept the copy: the proxy's journal, or a sender's own capture. */

import type { Ending } from '../model/coverage.ts';
import type { HeaderList } from '../model/headers.ts';
import type { FormatId } from '../model/provider.ts';

/** Instants are UTC with microseconds; bodies are as they passed, still under their content coding. */
export type Exchange = {
  svc_proxy_request_id: string | null; // given by the proxy
  request_id: string | null; // of an ingested turn; one of the two ids stands
  client_key: string; // hex
  provider: string;
  format: FormatId | null; // null: none that we can read
  method: string;
  url: string;
  status: number | null; // null: no answer came
  ending: Ending;
  requested_at: string;
  first_byte_at: string | null;
  last_byte_at: string | null;
  request: Uint8Array;
  request_bytes: number; // that passed, kept or not
  request_headers: HeaderList;
  response: Uint8Array;
  response_bytes: number;
  response_headers: HeaderList | null; // null: no answer came
  keep: 'full' | 'metadata'; // metadata: no body bytes were kept
  whole: boolean; // all of both bodies was kept, as far as `keep` asks
  meta: Record<string, unknown>; // stored beside what reading finds out
};

/** The call's own id: what its rows and spans are named by. */
export const callIdOf = ({ svc_proxy_request_id, request_id }: Pick<Exchange, 'svc_proxy_request_id' | 'request_id'>) =>
  svc_proxy_request_id ?? request_id ?? '';
