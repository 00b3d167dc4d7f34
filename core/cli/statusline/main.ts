#!/usr/bin/env node
/** The entry point of `svc-statusline`, which a harness starts after every message: it loads little more than Node itself. */
import { homedir } from 'node:os';
import { readEnvironment } from '../../config/environment.ts';
import { statusline } from './statusline.ts';

const env = readEnvironment();
void statusline({ stdin: process.stdin, env, cwd: process.cwd(), home: homeOrNone() }).then((line) => {
  process.stdout.write(`${line}\n`, () => process.exit(0)); // requests that are under way are given up
});
process.stdout.on('error', () => process.exit(0)); // the harness has not waited

function homeOrNone(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}
