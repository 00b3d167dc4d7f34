/** `svc token`: which tokens the read API requires, and new ones. */
import { randomBytes } from 'node:crypto';
import type { LoadedConfig } from '../../config/load.ts';
import type { Io } from '../io.ts';
import { plain } from '../units.ts';

const KEYS = [
  { path: 'api.token', name: 'token', variable: 'SVC_API_TOKEN', may: 'reads and changes everything' },
  { path: 'api.read_token', name: 'read_token', variable: 'SVC_API_READ_TOKEN', may: 'reads, and changes nothing' },
] as const;

/** Never the tokens themselves. */
export function showTokens(
  { config, source, file }: LoadedConfig,
  { json }: { json: boolean },
  { out }: Pick<Io, 'out'>,
): void {
  const tokens = KEYS.map(({ path, name, may }) => ({
    key: path,
    may,
    source: config.api[name] === '' ? null : (source[path] ?? 'default'),
  }));
  if (json) {
    out(`${JSON.stringify({ tokens, file })}\n`);
    return;
  }
  for (const { key, may, source: from } of tokens)
    out(
      `${key.padEnd(15)} ${from === null ? 'not set' : `set by ${from === 'file' ? `the file ${plain(file ?? '')}` : `a ${FROM[from] ?? from}`}`}; it ${may}\n`,
    );
  if (config.api.token === '') out('The read API requires no token: whoever reaches it reads everything\n');
  out(
    "'svc token new' makes one, 'svc token new --read-only' one that reads. The service takes it at its next start, and the old one no more\n",
  );
}

const FROM: Readonly<Record<string, string>> = { environment: 'variable', flag: 'flag' };

/** The token alone on stdout, so that it can be passed on. */
export function newToken(
  { config }: LoadedConfig,
  { readOnly, json }: { readOnly: boolean; json: boolean },
  { out, err }: Pick<Io, 'out' | 'err'>,
): void {
  const { path, name, variable } = KEYS[readOnly ? 1 : 0];
  const token = randomBytes(32).toString('base64url');
  if (json) {
    out(`${JSON.stringify({ key: path, token, toml: `[api]\n${name} = "${token}"\n`, variable })}\n`);
    return;
  }
  out(`${token}\n`);
  err(
    [
      `This is a new ${path}. Set ${variable} to it, or keep it in .svc/config.toml without showing it:`,
      '',
      `  svc token new${readOnly ? ' --read-only' : ''} | svc config set ${path}`,
      '',
      'Then start the service again; the old one is void from then on',
      ...(readOnly && config.api.token === ''
        ? ['It needs an api.token beside it: without one nobody needs a token']
        : []),
      '',
    ].join('\n'),
  );
}
