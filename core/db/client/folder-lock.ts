/**
 * The lock of a data folder, for one process at a time: PGlite has no lock of its own, and two processes on one folder destroy the database. By hand,
 * since lock libraries go by a file's age, and a process that was suspended for longer would lose a lock that it still works under.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareServiceFolder } from '../../config/service-folder.ts';
import { OperatorError } from '../../errors.ts';
import { isAlive, markOf, type ProcessMark } from './process-mark.ts';

/** A process of a group names the group's leader: those of one group share the folder. */
type Claim = ProcessMark & { since: string; leader?: ProcessId };
type ProcessId = Pick<ProcessMark, 'pid' | 'started'>;

const CLAIM = /^lock\.[0-9a-f-]{36}$/;
const ATTEMPTS = 8;
const ORPHAN_POLL_MS = 25;
const ORPHANS_MS = 10_000; // for the processes of a leader that was killed, which end by themselves

/**
 * Locks a folder for a process that its leader has started: beside the leader's lock, and so that it stays locked while this process
 * lives, even when the leader is killed.
 * @param leader the pid of the process that holds the lock
 */
export const joinLock = (folder: string, leader: number): Promise<() => Promise<void>> =>
  claimFolder(folder, { pid: leader, started: markOf(leader).started });

/**
 * Creates the folder (0700), out of git's sight, and locks it. Each process writes a claim under a name of its own and then looks for
 * others: of two at once, at least one sees the other's, so never both get it, and removing a dead process's claim cannot remove a living one's.
 * What is left of a group whose leader was killed is waited for.
 * @returns releases the lock @throws {OperatorError} a living process holds it
 */
export const lockFolder = (folder: string): Promise<() => Promise<void>> => claimFolder(folder, null);

async function claimFolder(folder: string, leader: ProcessId | null): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  prepareServiceFolder(folder);
  const orphansUntil = performance.now() + ORPHANS_MS;
  for (let attempt = 0; ; ) {
    const ownName = `lock.${randomUUID()}`; // whoever saw the claim of the last attempt may be about to remove it
    await writeClaim(folder, ownName, leader);
    const other = await otherClaim(folder, ownName, leader);
    if (!other) return () => rm(join(folder, ownName), { force: true });
    await rm(join(folder, ownName), { force: true });
    if (isOrphan(other) && performance.now() < orphansUntil) {
      await sleep(ORPHAN_POLL_MS);
      continue;
    }
    if (attempt++ === ATTEMPTS) throw new OperatorError(inUseMessage(folder, other));
    await sleep(Math.random() * 2 ** attempt); // two may have withdrawn at once
  }
}

/** The process that holds the lock, of a group its leader, without taking it. Null: none of this machine, or the folder is not readable. */
export function holderOf(folder: string): number | null {
  try {
    const claims = readdirSync(folder).filter((name) => CLAIM.test(name));
    const held = claims.map((name) => parsed(readFileSync(join(folder, name), 'utf8'))).filter(isHeld);
    return (held.find(({ leader }) => leader === undefined) ?? held[0])?.pid ?? null;
  } catch {
    return null;
  }
}

const isHeld = (claim: Claim | undefined): claim is Claim => claim !== undefined && isAlive(claim);

/** Whether a claim is of the group of this process, which `leader` leads; null: this process does. */
const isOfGroup = (claim: Claim, leader: ProcessId | null) =>
  claim.leader?.pid === (leader?.pid ?? process.pid) || claim.pid === leader?.pid;

/** Whether the leader of the process's group is gone, so that it is about to end. */
const isOrphan = ({ leader, boot }: Claim) => leader !== undefined && !isAlive({ ...leader, boot });

const inUseMessage = (folder: string, { pid, leader, since }: Claim) =>
  `Cannot use '${folder}': process ${leader?.pid ?? pid} has used it since ${since}; stop that process, or start in another directory`;

/** Atomically: a reader sees all of it or nothing. @throws {OperatorError} it cannot be written */
async function writeClaim(folder: string, name: string, leader: ProcessId | null): Promise<void> {
  const claim: Claim = {
    ...markOf(process.pid),
    since: new Date().toISOString(),
    ...(leader && { leader }),
  };
  try {
    await writeFile(join(folder, `${name}.new`), JSON.stringify(claim), { mode: 0o600 });
    await rename(join(folder, `${name}.new`), join(folder, name));
  } catch (error) {
    await rm(join(folder, `${name}.new`), { force: true }).catch(() => {});
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(`Cannot use '${folder}': its lock cannot be written (${code})`, 1, { cause: error });
  }
}

/** A living process's claim of another group; those of dead processes are removed. */
async function otherClaim(folder: string, ownName: string, leader: ProcessId | null): Promise<Claim | undefined> {
  for (const name of await readdir(folder)) {
    if (!CLAIM.test(name) || name === ownName) continue;
    const claim = await readClaim(join(folder, name));
    if (claim && isAlive(claim)) {
      if (!isOfGroup(claim, leader)) return claim;
    } else await rm(join(folder, name), { force: true });
  }
  return undefined;
}

async function readClaim(path: string): Promise<Claim | undefined> {
  return readFile(path, 'utf8').then(parsed, () => undefined); // released meanwhile
}

function parsed(text: string): Claim | undefined {
  try {
    return JSON.parse(text) as Claim;
  } catch {
    return undefined; // cut by a power loss
  }
}
