#!/usr/bin/env node
/** The entry point of `svc-statusline`, which a harness starts after every message: it loads little more than Node itself. */
import { writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { readEnvironment } from '../../config/environment.ts';
import { statusline } from './statusline.ts';

const env = readEnvironment();
void statusline({ stdin: process.stdin, env, cwd: orNone(() => process.cwd()), home: orNone(homedir) }).then((line) => {
  try {
    writeSync(1, `${line}\n`); // a stream takes longer to make
  } catch {} // the harness has not waited
  process.exit(0); // requests that are under way are given up
});

/** '' where the system names none: a user of a container has no home, and a working folder may be deleted. */
function orNone(folder: () => string): string {
  try {
    return folder();
  } catch {
    return '';
  }
}
