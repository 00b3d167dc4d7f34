/** `svc login`: stores an API key where only this user reads it. It is typed without echo, or piped; never an argument. */
import pc from 'picocolors';
import { CREDENTIAL_OWNERS, type CredentialOwner, writeCredential } from '../config/credentials.ts';
import { OperatorError } from '../errors.ts';
import type { Io } from './io.ts';

/** @param prompt returns what was typed or piped; the question is only shown on a terminal @throws {OperatorError} no such provider, or no key */
export async function login(
  owner: string,
  { folder, out }: Pick<Io, 'out'> & { folder: string },
  prompt: (question: string) => Promise<string>,
): Promise<void> {
  if (!isOwner(owner)) {
    const known = CREDENTIAL_OWNERS.map((one) => `'${one}'`).join(' and ');
    throw new OperatorError(`Cannot log in at '${owner}': there are only ${known}`, 2);
  }
  const path = writeCredential(folder, owner, (await prompt(`API key of ${owner}: `)).trim());
  out(`${pc.green('Kept')} in ${path}, which only you can read; a service that runs has it after its next start\n`);
}

const isOwner = (word: string): word is CredentialOwner => CREDENTIAL_OWNERS.some((owner) => owner === word);
