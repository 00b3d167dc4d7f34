/** The API keys for the service's own requests to hosted providers: from the environment, else from `svc login`. No other file holds them. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'smol-toml';
import * as z from 'zod/mini';
import { OperatorError } from '../errors.ts';
import type { Environment } from './environment.ts';
import { replaceFile } from './replace-file.ts';
import { prepareServiceFolder } from './service-folder.ts';

export const CREDENTIAL_OWNERS = ['openai', 'anthropic'] as const;
export type CredentialOwner = (typeof CREDENTIAL_OWNERS)[number];

/** Absent: no key is set. */
export type Credentials = Partial<Record<CredentialOwner, string>>;

const FILE = 'credentials.toml';
const VARIABLES: Record<CredentialOwner, string> = { openai: 'OPENAI_API_KEY', anthropic: 'ANTHROPIC_API_KEY' };

const File = z.strictObject({
  openai: z.optional(z.strictObject({ api_key: z.string() })),
  anthropic: z.optional(z.strictObject({ api_key: z.string() })),
});

/** @param folder the `.svc` in effect @throws {OperatorError} its file is broken, or others can read it; the message never quotes it */
export function readCredentials(folder: string, env: Environment): Credentials {
  const file = fileIn(folder);
  return Object.fromEntries(
    CREDENTIAL_OWNERS.flatMap((owner) => {
      const key = env[VARIABLES[owner]] || file[owner]?.api_key;
      return key ? [[owner, key]] : [];
    }),
  );
}

/**
 * Writes the file readable by this user alone; other owners' keys stay, and git sees none.
 * @throws {OperatorError} `key` is no key, or the file cannot be written
 */
export function writeCredential(folder: string, owner: CredentialOwner, key: string): string {
  if (!/^[\x21-\x7e]{8,512}$/.test(key))
    throw new OperatorError(
      `Cannot keep the key of ${owner}: it must be 8 to 512 printable characters without spaces`,
      2,
    );
  const path = join(folder, FILE);
  const text = stringify({ ...fileIn(folder), [owner]: { api_key: key } });
  prepareServiceFolder(folder);
  replaceFile(path, text);
  return path;
}

function fileIn(folder: string): z.infer<typeof File> {
  const path = join(folder, FILE);
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return {};
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0)
    throw new OperatorError(`Cannot use '${path}': others can read it; run chmod 600 on it, and think of other keys`);
  try {
    const parsed = File.safeParse(parse(readFileSync(path, 'utf8')));
    if (parsed.success) return parsed.data;
  } catch {} // a parser's message quotes what it read
  throw new OperatorError(`Cannot use '${path}': it is not as 'svc login' writes it; log in again once it is removed`);
}
