/** How much of a turn `t` was stored: the proxy recorded it in `meta`; an ingested turn is always complete. */
import { sql } from 'drizzle-orm';

/** True when its bodies were stored, whole or in part. */
export const hasBodies = sql`(t.svc_proxy_request_id is null or coalesce(t.meta ->> 'kept', 'full') = 'full')`;

/** True when nothing is missing of what was to be stored. */
export const isWhole = sql`(t.svc_proxy_request_id is null or not jsonb_exists(t.meta, 'cut'))`;
