/** The commands of `svc` and their arguments; their implementations are passed in, so that help loads no server. */
import { Command, CommanderError } from 'commander';
import { CREDENTIAL_OWNERS } from '../config/credentials.ts';
import { type LoadedConfig, loadConfig } from '../config/load.ts';
import { OperatorError } from '../errors.ts';
import { addCassetteCommands, type CassetteCommands } from './cassette/commands.ts';
import { choiceArgument } from './choices.ts';
import { addDoctorCommand } from './doctor/commands.ts';
import { addHelpCommand } from './help-command.ts';
import type { Io } from './io.ts';
import { addKeepCommands } from './keep/commands.ts';
import { addConfigOptions, completeOptions, flagsOf } from './options.ts';
import { addRecordCommands } from './record/commands.ts';
import { SERVE_ROLES, type ServeRole } from './serve/role.ts';
import { addServiceCommands } from './service/commands.ts';
import { addSettingsCommands } from './settings/commands.ts';
import { addStartCommands } from './start/commands.ts';
import { addSyncCommands } from './sync/commands.ts';
import { systemProblem } from './system-error.ts';
import type { VerifyOptions } from './verify.ts';

export type Commands = {
  version: string;
  io: Io;
  serve: (loaded: LoadedConfig, role: ServeRole, io: Io) => Promise<void>; // settles when the service has stopped
  status: (loaded: LoadedConfig, options: { json: boolean }, io: Io) => Promise<0 | 1>;
  demo: (loaded: LoadedConfig, io: Io) => Promise<void>; // settles when it was stopped
  open: (loaded: LoadedConfig, options: { print: boolean }, io: Io) => Promise<void>;
  contract: (options: { seal: boolean }, io: Io) => Promise<void>;
  verify: (loaded: LoadedConfig, options: VerifyOptions, io: Io) => Promise<0 | 1>;
  cassette: CassetteCommands;
  login: (owner: string, loaded: LoadedConfig, io: Io) => Promise<void>;
};

const isRole = (word: string): word is ServeRole => SERVE_ROLES.some((role) => role === word);

/** Exit status: 0 done, 1 failed, 2 wrong usage; of `svc start` that of the program. `args` is what follows the command's name. */
export async function runProgram(commands: Commands, args: readonly string[]): Promise<number> {
  const { io } = commands;
  let exitCode = 0;
  const exit = (status: number) => {
    exitCode = status;
  };
  try {
    const program = buildProgram(commands, exit);
    await program.parseAsync(isCommand(program, args[0]) ? args : args.slice(0, 1), { from: 'user' });
    return exitCode;
  } catch (error) {
    if (isUsageError(error)) return error.exitCode === 0 ? 0 : 2; // commander has printed why
    if (error instanceof OperatorError) {
      io.err(`${error.message}\n`);
      return error.exitCode;
    }
    const problem = systemProblem(error);
    if (problem !== null) {
      io.err(`${problem}\n`);
      return 1;
    }
    io.err(`${error instanceof Error ? error.stack : String(error)}\n`);
    return 1;
  }
}

/** False for a command that there is not: `--help` after it would print the help of all, as if it were one. */
const isCommand = (program: Command, word = '-') =>
  word.startsWith('-') || word === 'help' || program.commands.some((command) => command.name() === word);

/** Also of another copy of commander: what is built has one in its bundle, and commands that are loaded late have the package's. */
const isUsageError = (error: unknown): error is CommanderError =>
  error instanceof CommanderError || (error instanceof Error && error.name === 'CommanderError');

/** Throws instead of exiting: CommanderError for help, version and wrong usage. `exit` is called with a command's exit status. */
export function buildProgram(
  { version, io, serve, status, demo, open, contract, verify, cassette, login }: Commands,
  exit: (status: number) => void = () => {},
): Command {
  const program = new Command('svc')
    .description('Records what passes between LLM clients and LLM providers, and makes it readable.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .enablePositionalOptions() // so that options after the name of a program or an operation are its own
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.err })
    .showHelpAfterError('(--help tells what there is)')
    .addHelpText('after', HELP)
    .addHelpText('afterAll', EXIT_STATUS);

  const loaded = (parsed: Record<string, unknown>) => {
    const { env, cwd, home } = io;
    return loadConfig({ flags: flagsOf(parsed), env, cwd, home });
  };

  const parts = { version, io, loaded, exit };
  program.commandsGroup('Record:');
  addStartCommands(program, parts);
  addSyncCommands(program, parts);

  program.commandsGroup('Run the service:');
  addConfigOptions(program.command('serve'))
    .description('start the capture proxy, the read API, the ingest API and derivation, or one of them alone')
    .addArgument(choiceArgument('[role]', 'what to run', SERVE_ROLES).default('all'))
    .addHelpText('after', `${SETTINGS}\n${ROLE_HELP}`)
    .action(async (role: string, parsed: Record<string, unknown>) => {
      if (!isRole(role)) {
        const known = SERVE_ROLES.map((one) => `'${one}'`).join(', ');
        throw new OperatorError(`Cannot serve '${role}': there is no such role, only ${known}`, 2);
      }
      await serve(loaded(parsed), role, io);
    });

  addConfigOptions(program.command('status'))
    .description('tell what is up, how far behind it is, what could not be captured, and which settings are in effect')
    .option('--json', 'as one JSON document')
    .addHelpText('after', SETTINGS)
    .action(async ({ json, ...parsed }: Record<string, unknown>) => {
      exit(await status(loaded(parsed), { json: json === true }, io));
    });

  addConfigOptions(program.command('demo'))
    .description(
      'run everything in a temporary folder with sessions to look at, and a conversation with a local provider',
    )
    .addHelpText('after', SETTINGS)
    .action(async (parsed: Record<string, unknown>) => {
      await demo(loaded(parsed), io);
    });

  addConfigOptions(program.command('open'))
    .description(
      'open the web UI of the running service in a browser; without one, or without a terminal, print its address',
    )
    .option('--print', 'print the address only')
    .addHelpText('after', SETTINGS)
    .action(async ({ print, ...parsed }: Record<string, unknown>) => {
      await open(loaded(parsed), { print: print === true }, io);
    });

  addDoctorCommand(program, parts);
  addServiceCommands(program, parts);
  program.commandsGroup('Read the record:');
  addRecordCommands(program, parts);
  program.commandsGroup('Keep the record:');
  addConfigOptions(program.command('verify'))
    .description('tell whether the turns of a session, or of all, are as they were written, and where they are not')
    .argument('[session]', 'the id of a session, or its first digits; without one all are checked')
    .option('--head <hash>', 'the head of a session that was printed earlier: the turn must still be there')
    .option('--json', 'as one JSON document')
    .addHelpText('after', SETTINGS)
    .action(async (session: string | undefined, { json, head, ...parsed }: Record<string, unknown>) => {
      const options = { session: session ?? null, head: typeof head === 'string' ? head : null, json: json === true };
      exit(await verify(loaded(parsed), options, io));
    });
  addKeepCommands(program, parts);
  program.commandsGroup('Configure and extend:');
  addSettingsCommands(program, parts);
  program
    .command('login')
    .description('keep the API key with which search and skills ask a hosted provider')
    .addArgument(choiceArgument('<provider>', 'whose key it is', CREDENTIAL_OWNERS))
    .addHelpText('after', '\nThe key is typed without being shown, or comes from a pipe: svc login openai < key')
    .action(async (owner: string) => {
      await login(owner, loaded({}), io);
    });
  addCassetteCommands(program, { commands: cassette, io, loaded, exit });

  program
    .command('contract')
    .description('print the OpenAPI documents of the read API and the ingest API')
    .option('--seal', "write their fingerprints into the CONTRACT files instead; for this project's developers")
    .action(async ({ seal }: { seal?: boolean }) => {
      await contract({ seal: seal === true }, io);
    });

  addHelpCommand(program);
  for (const group of [program, ...program.commands])
    group.hook('preSubcommand', (_group, called) => completeOptions(called));
  return program;
}

const HELP = `
'svc help <command>' explains a command. Results go to stdout, all else to stderr; NO_COLOR=1 turns colours off.`;

const EXIT_STATUS = '\nExit status: 0 done, 1 failed, 2 wrong usage.';

const ROLE_HELP = `
A role by itself runs in any number on one PostgreSQL (storage.postgres_dsn), on one machine or many: 'proxy' records calls, 'ingest' takes
turns in, 'derive' makes sessions of what these store, 'api' shows them. SVC_INTERNAL_LISTEN opens /ping, /ready and /metrics for each.`;

const SETTINGS = `
Each setting can also stand in .svc/config.toml (here, else in your home folder), as 'listen' under '[proxy]', or in the
environment, as SVC_PROXY_LISTEN. A flag outranks the environment, the environment the file.`;
