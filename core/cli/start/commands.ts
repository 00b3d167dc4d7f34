/** The commands of 'svc start', and their arguments. */
import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';
import { addClientOptions, flagsOf } from '../options.ts';

export function addStartCommands(program: Command, { version, io, loaded, exit }: CommandParts): void {
  program.enablePositionalOptions(); // options behind the harness's name are its own
  addClientOptions(program.command('start'), ['client.proxy_target'])
    .description('run a harness through the capture proxy, and tell afterwards what was recorded')
    .argument('<harness>', 'claude, codex, opencode, gemini, pi, or any other command')
    .argument('[args...]', "the harness's own arguments, as they are")
    .passThroughOptions()
    .allowUnknownOption()
    .addHelpText('after', HELP)
    .action(async (command: string, words: string[], parsed: Record<string, unknown>) => {
      const { start } = await import('./start.ts');
      if (Object.keys(flagsOf(parsed)).length > 0) loaded(parsed); // a mistake on the command line is one of usage
      const args = words[0] === '--' ? words.slice(1) : words;
      const own = [...process.execArgv, process.argv[1] ?? ''];
      exit(await start({ command, args, load: () => loaded(parsed), own }, io));
    });

  program
    .command('shared-service', { hidden: true })
    .description("the service that all 'svc start' of a user share, which ends after the last of them")
    .action(async () => {
      const { runSharedService } = await import('./shared-service.ts');
      const { serve } = await import('../serve/serve.ts');
      await runSharedService(io, { version, serve });
    });
}

const HELP = `
It uses the service at client.proxy_target if that is set and there, else the one of this folder, else one of your own in ~/.svc,
which starts with the first harness and ends after the last. Where none can be started, the harness runs unrecorded.

  svc start claude
  svc start claude --resume
  svc start codex -- exec 'fix the test'

The exit status is that of the harness; 127: there is no such command; 126: it may not be executed.`;
