/** The person's own browser, called by the program that the system has for it. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Environment } from '../config/environment.ts';

const READ_MS = 4_000; // for a browser that has to start

/**
 * Other users of a machine see the arguments of a program, so an address with a secret in its fragment is passed in a file of this user's
 * own, which is removed again.
 * @returns false: there is no desktop, or no program that opens addresses
 */
export async function openInBrowser(address: string, env: Environment): Promise<boolean> {
  const command = commandOf(env);
  if (command === null) return false;
  if (!address.includes('#')) return succeeds(command, address);
  const folder = await mkdtemp(join(tmpdir(), 'svc-open-page-'));
  try {
    const page = join(folder, 'svc.html');
    const html = `<!doctype html><meta http-equiv="refresh" content="0;url=${escaped(address)}"><title>svc</title>\n`;
    await writeFile(page, html, { mode: 0o600 });
    if (!(await succeeds(command, pathToFileURL(page).href))) return false;
    await sleep(READ_MS);
    return true;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function commandOf(env: Environment): readonly [string, ...string[]] | null {
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : null; // without a desktop it might start a browser in the terminal
}

const succeeds = ([program, ...first]: readonly [string, ...string[]], address: string): Promise<boolean> =>
  new Promise((resolve) => {
    const child = spawn(program, [...first, address], { stdio: 'ignore', detached: true });
    const end = (isOpen: boolean) => {
      clearTimeout(timer);
      child.unref();
      resolve(isOpen);
    };
    const timer = setTimeout(end, READ_MS, true); // some stay as long as the browser
    child.once('error', () => end(false));
    child.once('exit', (code) => end(code === 0));
  });

const escaped = (text: string) => text.replace(/[&"<>]/g, (character) => `&#${character.charCodeAt(0)};`);
