/** `npm run dev`: all listeners from source, restarted on every change, and the browser UI bundled again when its sources change. */
import { spawn } from 'node:child_process';
import { watch } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleClient } from './bundle.mjs';

const SETTLED_MS = 50; // an editor writes a file in several steps
const root = fileURLToPath(new URL('../..', import.meta.url));

await bundle();
const program = ['--watch', '--import', 'tsx', join(root, 'core/cli/main.ts'), 'serve', ...process.argv.slice(2)];
const service = spawn(process.execPath, program, { stdio: 'inherit' });
service.once('exit', (code) => process.exit(code ?? 1));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => service.kill(signal));

let timer;
watch(join(root, 'core/web/client'), { recursive: true }, () => {
  clearTimeout(timer);
  timer = setTimeout(bundle, SETTLED_MS);
});

async function bundle() {
  await bundleClient({ root, assets: join(root, 'dist/core/web/assets') }).catch((error) =>
    process.stderr.write(`Cannot bundle the browser UI: ${error.message}\n`),
  );
}
