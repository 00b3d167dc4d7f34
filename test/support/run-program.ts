/** `svc` in this process: its arguments as a shell passes them, in folders of the test's own. Commands that need a service are not there. */
import { runProgram } from '../../core/cli/program.ts';

type Ran = { status: number; out: string; err: string };
type Surroundings = { cwd: string; home: string; env?: Record<string, string> };

export async function svcIn({ cwd, home, env = {} }: Surroundings, ...args: string[]): Promise<Ran> {
  const ran: Ran = { status: -1, out: '', err: '' };
  const io = {
    out: (text: string) => {
      ran.out += text;
    },
    err: (text: string) => {
      ran.err += text;
    },
    ...{ env, cwd, home },
  };
  const none = () => Promise.reject(new Error('this command is not run here'));
  const cassette = { add: none, remove: none, list: none, new: none, check: none, serve: none };
  const commands = { serve: none, status: none, demo: none, open: none, contract: none, verify: none, login: none };
  ran.status = await runProgram({ version: '1.2.3', io, ...commands, cassette }, args);
  return ran;
}
