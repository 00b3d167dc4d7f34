#!/usr/bin/env node
/** The entry point of the process. All else is loaded from here, and a command's own code only when the command is called. */

import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

// Other versions fail with the stack of some package, if they can parse the code at all.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const isNewEnough = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22;
if (!isNewEnough) {
  process.stderr.write(`Cannot start on Node ${process.versions.node}: svc needs 20.19, or 22.12 and later\n`);
  process.exit(1);
}

// Without a handler this signal opens Node's inspector, which gives access to every byte that passes, to whoever may signal us.
process.on('SIGUSR1', () => {});

// A reader that closes the pipe early (`svc contract | head`) is no failure, and a service does not end with the reader of its banner.
const isService = ['serve', 'demo'].includes(process.argv[2] ?? '');
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  if (!isService) process.exit(0);
});

const { readEnvironment } = await import('../config/environment.ts');
const { packageRoot } = await import('../package-root.ts');
const { runProgram } = await import('./program.ts');

const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { version: string };

process.exitCode = await runProgram(
  {
    version,
    io: {
      out: (text) => process.stdout.write(text),
      err: (text) => process.stderr.write(text),
      isTerminal: process.stdout.isTTY === true,
      env: readEnvironment(),
      cwd: process.cwd(),
      home: homeOrNone(),
    },
    serve: async (loaded, role, io) => (await import('./serve/serve.ts')).serve(loaded, io, { role, version }),
    status: async (loaded, options, io) => (await import('./status.ts')).printStatus(loaded, options, io, version),
    demo: async (loaded, io) => (await import('./demo.ts')).runDemo(loaded, io, version),
    open: async (loaded, options, io) => (await import('./open.ts')).openUi(loaded, options, io),
    verify: async (loaded, options, io) => (await import('./verify.ts')).printVerification(loaded, options, io),
    cassette: {
      add: async (what, options, loaded, io) => {
        const { terminalConfirm } = await import('./cassette/confirm.ts');
        const { addCassette } = await import('./cassette/add.ts');
        const target = await (await import('./cassette/target.ts')).targetOf(loaded, io);
        return addCassette(what, options, { ...io, ...target, confirm: terminalConfirm() });
      },
      remove: async (name, options, loaded, io) => {
        const target = await (await import('./cassette/target.ts')).targetOf(loaded, io);
        return (await import('./cassette/remove.ts')).removeCassette(name, options, loaded, { ...io, target });
      },
      list: async (options, loaded, io) => {
        const target = await (await import('./cassette/target.ts')).targetOf(loaded, io);
        return (await import('./cassette/list.ts')).listCassettes(loaded, options, { ...io, target });
      },
      check: async (what, options, io) =>
        (await import('./cassette/check.ts')).checkCassette(what, options, io, version),
      serve: async (what, options, loaded, io) =>
        (await import('./cassette/serve.ts')).serveCassette(what, options, loaded, io),
      new: async (name, folder, io) => (await import('./cassette/new.ts')).newCassette(name, folder, io),
    },
    login: async (owner, { folder }, io) => {
      const { hiddenInput } = await import('./hidden-input.ts');
      return (await import('./login.ts')).login(owner, { ...io, folder }, hiddenInput);
    },
    contract: async (options, io) => (await import('./contract.ts')).printContracts(options, io),
  },
  process.argv.slice(2),
);

/** The user's home folder; '' where there is none, as for some users of containers. */
function homeOrNone(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}
