/** Which tools does the service have itself? Those with which an agent reads its own past, from the whole to the single step. */
import type { Database } from '../../db/database.ts';
import { sessionTool } from './svc-session.ts';
import { sessionsTool } from './svc-sessions.ts';
import { statsTool } from './svc-stats.ts';
import { traceTool } from './svc-trace.ts';
import type { Tool } from './tool.ts';

/** @param now milliseconds since 1970 */
export const coreTools = ({ ask, now }: { ask: Database['ask']; now: () => number }): Tool[] => [
  sessionsTool({ ask, now }),
  sessionTool({ ask, now }),
  traceTool({ ask }),
  statsTool({ ask }),
];
