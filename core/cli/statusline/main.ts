#!/usr/bin/env node
/** The entry point of `svc-statusline`, which a harness starts after every message: it loads little more than Node itself. */
import { writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { readEnvironment } from '../../config/environment.ts';
import { statusline } from './statusline.ts';

const env = readEnvironment();
void statusline({ stdin: process.stdin, env, cwd: process.cwd(), home: homeOrNone() }).then((line) => {
  try {
    writeSync(1, `${line}\n`); // a stream takes longer to make
  } catch {} // the harness has not waited
  process.exit(0); // requests that are under way are given up
});

function homeOrNone(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}
