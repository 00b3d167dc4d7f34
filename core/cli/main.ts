#!/usr/bin/env node
/** The entry point of the process, which any Node can parse: the commands are loaded from here. */
import { runCompiled } from './run-compiled.ts'; // and nothing of Node's, which an older one may not find
import { beginWithFlags } from './serve/own-flags.ts';

// Other versions fail with the stack of some package, if they can parse the code at all.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const isNewEnough = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22;
if (!isNewEnough) {
  process.stderr.write(`Cannot start on Node ${process.versions.node}: svc needs 20.19, or 22.12 and later\n`);
  process.exit(1);
}

beginWithFlags();

// Without a handler this signal opens Node's inspector, which gives access to every byte that passes, to whoever may signal us.
process.on('SIGUSR1', () => {});

// A reader that closes the pipe early (`svc contract | head`) is no failure, and a service does not end with the reader of its banner.
const isService = ['serve', 'demo'].includes(process.argv[2] ?? '');
const onClosed = (error: NodeJS.ErrnoException) => {
  const isClosed = error.code === 'EPIPE' || (isService && error.code === 'EIO'); // EIO: its terminal was closed
  if (!isClosed) throw error;
  if (!isService) process.exit(0);
};
process.stdout.on('error', onClosed);
if (isService) process.stderr.on('error', onClosed);

// Where the build made it all is in one file, which loads in half of the time.
const { existsSync } = process.getBuiltinModule('node:fs');
const { fileURLToPath } = process.getBuiltinModule('node:url');
const bundle = fileURLToPath(new URL('../../bundle/core.cli.commands.cjs', import.meta.url));
if (existsSync(bundle)) runCompiled(bundle, !isService);
else void import('./commands.ts');
