/** The service's own tools, with which an agent reads its recorded past, from the totals to the single step. */
import type { Database } from '../../db/database.ts';
import type { AcquireSlot } from '../../http/payload-reads.ts';
import { type PriceOf, priceOf as publishedPrice } from '../../price/prices.ts';
import { cacheTool } from './svc-cache.ts';
import { contextTool } from './svc-context.ts';
import { findTool } from './svc-find.ts';
import { sessionTool } from './svc-session.ts';
import { sessionsTool } from './svc-sessions.ts';
import { spendTool } from './svc-spend.ts';
import { statsTool } from './svc-stats.ts';
import { traceTool } from './svc-trace.ts';
import type { McpTool } from './tool.ts';

type Deps = { execute: Database['execute']; now: () => number; takePlace: AcquireSlot; priceOf?: PriceOf };

/** @param now milliseconds since 1970. @param takePlace takes a slot for payload reads */
export const coreTools = ({ execute, now, takePlace, priceOf = publishedPrice }: Deps): McpTool[] => [
  sessionsTool({ execute, now }),
  sessionTool({ execute, now }),
  traceTool({ execute, takePlace }),
  contextTool({ execute, priceOf, takePlace }),
  findTool({ execute, takePlace }),
  statsTool({ execute }),
  cacheTool({ execute, priceOf, takePlace }),
  spendTool({ execute, now }),
];
