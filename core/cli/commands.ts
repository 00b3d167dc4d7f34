/** What each command of `svc` calls, run with the arguments of this process: a command's own code is loaded only when the command is called. */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readEnvironment } from '../config/environment.ts';
import { packageRoot } from '../package-root.ts';
import { runProgram } from './program.ts';
import { workingFolder } from './working-folder.ts';

const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { version: string };

void runProgram(
  {
    version,
    io: {
      out: (text) => process.stdout.write(text),
      err: (text) => process.stderr.write(text),
      isTerminal: process.stdout.isTTY === true,
      ...(process.stdout.isTTY && { columns: process.stdout.columns }),
      isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true,
      env: readEnvironment(),
      get cwd() {
        return workingFolder(); // when it is needed: '--help' works without one
      },
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
).then((exitCode) => {
  process.exitCode = exitCode;
});

/** The user's home folder; '' where there is none, as for some users of containers. */
function homeOrNone(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}
