/** How much of a turn `t` was kept? What the proxy wrote down beside it tells; the sender of an ingested turn has sent all of it. */
import { sql } from 'drizzle-orm';

/** True when its bodies were kept, whole or in part. */
export const hasBodies = sql`(t.svc_proxy_request_id is null or coalesce(t.meta ->> 'kept', 'full') = 'full')`;

/** True when nothing is missing of what was to be kept. */
export const isWhole = sql`(t.svc_proxy_request_id is null or not jsonb_exists(t.meta, 'cut'))`;
