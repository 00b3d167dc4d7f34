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

// A reader that closes the pipe early (`svc contract | head`) is no failure. A service does not end with the reader of its banner, nor does
// `svc start`, which still has to send what the harness wrote; and what is reported on stderr is never what a command is for. Where both
// are files on a full disk, a service goes on too.
const [command = ''] = process.argv.slice(2);
const isService = ['serve', 'demo'].includes(command);
const outlivesReader = isService || command === 'start';
const isClosed = ({ code = '' }: NodeJS.ErrnoException) => code === 'EPIPE' || code === 'EIO'; // EIO: its terminal was closed
process.stdout.on('error', (error) => {
  if (!isClosed(error) && !isService) throw error;
  if (!outlivesReader) process.exit(0);
});
process.stderr.on('error', (error) => {
  if (!isClosed(error) && !isService) throw error;
});

// Where the build made it all is in one file, which loads in half of the time.
const { existsSync } = process.getBuiltinModule('node:fs');
const { fileURLToPath } = process.getBuiltinModule('node:url');
const bundle = fileURLToPath(new URL('../../bundle/core.cli.commands.cjs', import.meta.url));
if (existsSync(bundle)) runCompiled(bundle, !isService);
else void import('./commands.ts');
