/** As process-kills.test.ts, with fifty kills of each process. */
import { declareProcessKills } from '../support/faults/declare-process-kills.ts';

declareProcessKills(50);
