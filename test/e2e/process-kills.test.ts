/** A service whose processes are killed under load: what an agent sees of it, and what is recorded. (Fifty kills: process-kills.long.) */
import { declareProcessKills } from '../support/faults/declare-process-kills.ts';

declareProcessKills(5);
