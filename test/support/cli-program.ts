/** The program `svc` in this process, with its output: what a person types, without a process of its own for each line. */
import type { Io } from '../../core/cli/io.ts';
import { type Commands, runProgram } from '../../core/cli/program.ts';

export type Ran = { status: number; out: string; err: string };

const absent = () => Promise.reject(new Error('not a command of this test'));

/** @param io what of it is not as without a terminal */
export async function svc(args: readonly string[], io: Partial<Io> & Pick<Io, 'cwd'>): Promise<Ran> {
  const ran: Ran = { status: -1, out: '', err: '' };
  const commands: Commands = {
    version: '1.2.3',
    io: {
      out: (text) => {
        ran.out += text;
      },
      err: (text) => {
        ran.err += text;
      },
      env: {},
      home: io.cwd,
      ...io,
    },
    ...{ serve: absent, status: absent, demo: absent, open: absent, contract: absent, verify: absent, login: absent },
    cassette: { add: absent, remove: absent, list: absent, new: absent, check: absent, serve: absent },
  };
  ran.status = await runProgram(commands, args);
  return ran;
}
