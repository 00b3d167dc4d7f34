/** The command `svc doctor` and its arguments. */
import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';
import { addConfigOptions } from '../options.ts';

export function addDoctorCommand(program: Command, { io, loaded, exit }: CommandParts): void {
  addConfigOptions(program.command('doctor'))
    .description('tell whether calls are recorded, by sending some and reading them back, and what is misconfigured')
    .option('--provider <id>', 'send a call to this one; may stand several times', collected)
    .option('--offline', 'send nothing to a provider')
    .option('--json', 'as one JSON document')
    .addHelpText('after', HELP)
    .action(async ({ provider, offline, json, ...parsed }: Record<string, unknown>) => {
      const { runDoctor } = await import('./doctor.ts');
      const providers = Array.isArray(provider) ? (provider as string[]) : [];
      exit(await runDoctor({ providers, offline: offline === true, json: json === true }, loaded(parsed), io));
    });
}

const collected = (value: string, before: string[] = []): string[] => [...before, value];

const HELP = `
A call is sent to the provider of bare paths and to those that were recorded before, with a key that they refuse: it costs nothing, and
shows the whole way. It is taken from all lists afterwards.`;
