/** The commands `svc service …` and their arguments. */
import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';

export function addServiceCommands(program: Command, { io, exit }: CommandParts): void {
  const service = program
    .command('service')
    .description("keep svc running as a service of your own: by your user's systemd, or by launchd")
    .addHelpText('after', HELP);

  service
    .command('install')
    .description('write its file, start it now and at each login; once more after an upgrade of svc or Node')
    .option(
      '--folder <path>',
      "the folder in which it runs, with settings and data in its '.svc'; your home folder by default",
    )
    .option('--dry-run', 'print the file and the commands, and change nothing')
    .option('--json', 'what was written and run, as one JSON document')
    .action(async ({ folder, dryRun, json }: Record<string, unknown>) => {
      const { installService } = await import('./install.ts');
      const options = { dryRun: dryRun === true, json: json === true };
      exit(await installService({ ...options, ...(typeof folder === 'string' && { folder }) }, io));
    });

  service
    .command('uninstall')
    .description('stop it and remove its file; what it has recorded stays')
    .option('--dry-run', 'print the commands, and change nothing')
    .option('--json', 'what was removed and run, as one JSON document')
    .action(async ({ dryRun, json }: Record<string, unknown>) => {
      const { uninstallService } = await import('./uninstall.ts');
      exit(await uninstallService({ dryRun: dryRun === true, json: json === true }, io));
    });

  service
    .command('status')
    .description('show whether it is installed and runs; what it records is shown by svc status')
    .option('--json', 'as one JSON document')
    .action(async ({ json }: Record<string, unknown>) => {
      const { printServiceStatus } = await import('./status.ts');
      exit(await printServiceStatus({ json: json === true }, io));
    });

  service
    .command('logs')
    .description('print its last log lines')
    .option('-f, --follow', 'and those that come')
    .option('-n, --lines <number>', 'how many', '100')
    .action(async ({ follow, lines }: Record<string, unknown>) => {
      const { printServiceLogs } = await import('./logs.ts');
      exit(await printServiceLogs({ follow: follow === true, lines: String(lines) }, io));
    });
}

const HELP = `
The service runs under your user, in your home folder: its settings are in ~/.svc/config.toml ('svc config set --home'), and 'svc start'
and all commands find it. Variables of this shell do not reach it. For the service of a machine see core/deploy/README.md of a clone.`;
