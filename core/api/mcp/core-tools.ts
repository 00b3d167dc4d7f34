/** Which tools does the service have itself? Those with which an agent reads its own past, from the whole to the single step. */
import type { Database } from '../../db/database.ts';
import type { TakePlace } from '../../http/payload-reads.ts';
import { sessionTool } from './svc-session.ts';
import { sessionsTool } from './svc-sessions.ts';
import { statsTool } from './svc-stats.ts';
import { traceTool } from './svc-trace.ts';
import type { Tool } from './tool.ts';

type Deps = { ask: Database['ask']; now: () => number; takePlace: TakePlace };

/** @param now milliseconds since 1970. @param takePlace among the readers of payloads */
export const coreTools = ({ ask, now, takePlace }: Deps): Tool[] => [
  sessionsTool({ ask, now }),
  sessionTool({ ask, now }),
  traceTool({ ask, takePlace }),
  statsTool({ ask }),
];
