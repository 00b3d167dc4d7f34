/** The unit for a user's own systemd. core/deploy/systemd has those of a machine, which say why each setting is as it is. */
import type { ServiceDefinition } from './definition.ts';

/** A word of a line. @example quoted('/a b/100%'); // => '"/a b/100%%"' */
export const quoted = (text: string): string => `"${literal(text.replace(/[\\"]/g, '\\$&'))}"`;

/** An argument of the program, in which systemd would replace variables. */
const argument = (text: string) => quoted(text).replaceAll('$', '$$$$');

const literal = (text: string) => text.replaceAll('%', '%%');

export const systemdUnit = ({
  command: [program, ...args],
  folder,
  path,
  version,
}: ServiceDefinition): string => `# Written by 'svc service install' of svc ${version}.
[Unit]
Description=svc: records what passes between LLM clients and providers
StartLimitIntervalSec=2min
StartLimitBurst=5

[Service]
Type=notify
NotifyAccess=all
ExecStart=${[quoted(program), ...args.map(argument)].join(' ')}
WorkingDirectory=${literal(folder)}
Environment=${quoted(`PATH=${path}`)}
TimeoutStartSec=10min
WatchdogSec=60s
Restart=on-failure
RestartSec=2s
RestartPreventExitStatus=2
KillMode=mixed
TimeoutStopSec=45s
OOMPolicy=continue
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
`;
