/** The commands of `svc cassette` and their arguments; their implementations are passed in, as in program.ts. */
import type { Command } from 'commander';
import type { LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import type { Io } from '../io.ts';
import { addClientOptions, addConfigOptions } from '../options.ts';
import type { AddOptions } from './add.ts';
import type { ServeOptions } from './serve.ts';

export type CassetteCommands = {
  add: (what: string, options: AddOptions, loaded: LoadedConfig, io: Io) => Promise<0 | 1>;
  remove: (name: string, options: { purge: boolean }, loaded: LoadedConfig, io: Io) => Promise<void>;
  list: (options: { json: boolean }, loaded: LoadedConfig, io: Io) => Promise<0 | 1>;
  new: (name: string, folder: string | undefined, io: Io) => Promise<void>;
  check: (what: string, options: { config: readonly string[] }, io: Io) => Promise<0 | 1>;
  serve: (what: string, options: ServeOptions, loaded: LoadedConfig, io: Io) => Promise<void>; // settles when it has stopped
};

type Parts = {
  commands: CassetteCommands;
  io: Io;
  loaded: (parsed: Record<string, unknown>) => LoadedConfig;
  exit: (status: 0 | 1) => void;
};

/** Adds the commands as a group of their own, `svc cassette add`: authors name their cassettes as they like. */
export function addCassetteCommands(program: Command, { commands, io, loaded, exit }: Parts): void {
  const cassette = program
    .command('cassette')
    .enablePositionalOptions()
    .description('install cassettes, which extend the read API, and know what became of them');

  cassette
    .command('add')
    .description('show what a cassette asks for, ask, and install it')
    .argument(
      '<what>',
      'a package, as @acme/summaries@1.2.0; a folder, as ./summaries; a tarball; or the address of an OpenAPI document',
    )
    .option('--name <name>', 'install it under this name, beside one that has its own')
    .option(
      '--isolation <how>',
      'process: in one of its own; inline: inside the service, with nothing to keep it apart',
      'process',
    )
    .option('--config <key=value>', 'one of its settings; may stand several times', collected)
    .option('-y, --yes', 'do not ask: what it asks for is granted')
    .addHelpText('after', NOTHING_RUNS)
    .action(async (what: string, parsed: AddFlags) => {
      const { name = null, yes = false, isolation, config = [] } = parsed;
      if (isolation !== 'process' && isolation !== 'inline')
        throw new OperatorError(`Cannot run it '${isolation}': there are only 'process' and 'inline'`, 2);
      const options: AddOptions = { name, yes, isolation: isolation === 'inline' ? isolation : null, config };
      exit(await commands.add(what, options, loaded({}), io));
    });

  addConfigOptions(cassette.command('remove'))
    .description('take a cassette off the list and remove what was installed')
    .argument('<name>', 'the name that it is installed under')
    .option('--purge', 'drop its schema as well, with all that it has stored')
    .action(async (name: string, { purge, ...parsed }: Record<string, unknown>) => {
      await commands.remove(name, { purge: purge === true }, loaded(parsed), io);
    });

  addConfigOptions(cassette.command('list'))
    .description('tell which cassettes are wanted, and what became of each in the service that runs')
    .option('--json', 'as one JSON document')
    .action(async ({ json, ...parsed }: Record<string, unknown>) => {
      exit(await commands.list({ json: json === true }, loaded(parsed), io));
    });

  addClientOptions(cassette.command('run'))
    .description('call an operation of a cassette in the service that runs')
    .argument('<name>', 'the name that it is installed under')
    .argument('[operation...]', 'which one, and what it takes; without it they are listed')
    .passThroughOptions()
    .addHelpText('after', RUN_HELP)
    .action(async (name: string, words: string[], parsed: Record<string, unknown>) => {
      await (await import('./run.ts')).runOperation(name, words, loaded(parsed), io);
    });

  cassette
    .command('new')
    .description('begin a cassette of your own: a folder with a small one in TypeScript, and its test')
    .argument('<name>', 'its name, such as word-count')
    .argument('[folder]', 'where it goes; default: a folder of that name')
    .action(async (name: string, folder: string | undefined) => {
      await commands.new(name, folder, io);
    });

  cassette
    .command('check')
    .description('tell whether a cassette will be let in, and keeps what its document says; for its author')
    .argument('[what]', 'its folder, or the address of its OpenAPI document', '.')
    .option('--config <key=value>', 'one of its settings; may stand several times', collected)
    .action(async (what: string, { config = [] }: { config?: string[] }) => {
      exit(await commands.check(what, { config }, io));
    });

  cassette
    .command('serve')
    .description('run one cassette alone, on a listener of its own')
    .argument('<folder>', 'its folder or file, or the name of one that comes with svc')
    .option('--listen <address>', 'where it listens; without a host: loopback only', ':9999')
    .option('--name <name>', 'the name of its role and schema; default: as it calls itself')
    .option('--config <key=value>', 'one of its settings; may stand several times', collected)
    .addHelpText('after', STANDS_ALONE)
    .action(async (what: string, { listen, name, config = [] }: ServeFlags) => {
      await commands.serve(what, { listen, name: name ?? null, config }, loaded({}), io);
    });
}

type ServeFlags = { listen: string; name?: string; config?: string[] };
type AddFlags = { name?: string; yes?: boolean; isolation: string; config?: string[] };

const collected = (value: string, before: string[] = []): string[] => [...before, value];

const RUN_HELP = `
Options for the service come before the name: svc cassette run --client-api-target http://… search find-spans --query midnight.
What an operation takes is shown by svc cassette run <name> <operation> --help.`;

const STANDS_ALONE = `
The database comes from SVC_DATABASE_URL, the read API from SVC_CORE_URL (with SVC_API_TOKEN where it asks for one); without them
the cassette runs without. Its settings come from --config and SVC_CASSETTE_<NAME>_<KEY>.`;

const NOTHING_RUNS = `
npm installs it without running anything of it, and only if all that it depends on comes from a registry of your npm configuration,
with a sha512, or lies inside its tarball. To say what it asks for it is started apart, with nothing in its hands. What was installed is
pinned: a cassette that is not what it was is not let in.`;
