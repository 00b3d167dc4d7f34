/** A harness of a few lines, as `svc start claude` runs it: one call through the base URL of its environment, then the status of `EXIT`.
 *  It prints what it got as one line of JSON, and with TRANSCRIPT leaves a file as Claude Code does. With PROMPT=hold it prints the first bytes of the response and waits for the rest. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const {
  ANTHROPIC_BASE_URL: base,
  ANTHROPIC_CUSTOM_HEADERS: custom = '',
  PROMPT: prompt,
  TRANSCRIPT: transcript,
  EXIT: status = '0',
} = process.env;
const headers = Object.fromEntries(
  custom
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
);
const printed = { base, args: process.argv.slice(2), terminal: process.stdout.isTTY === true };
if (prompt === undefined) console.log(JSON.stringify(printed));
else {
  const response = await fetch(`${base}/v1/messages`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'claude-cli/2.1.197 (external, cli)',
      'x-claude-code-session-id': `session-${process.pid}`,
      ...headers,
    },
    body: JSON.stringify({
      model: 'claude-sonnet-4-5',
      max_tokens: 100,
      messages: [{ role: 'user', content: prompt }],
    }),
  });
  if (prompt === 'hold') {
    for await (const bytes of response.body) console.log(`began: ${Buffer.from(bytes).toString().length > 0}`);
  } else console.log(JSON.stringify({ ...printed, reply: (await response.json()).content[0].text }));
}
if (transcript !== undefined) {
  const sessionId = `session-${process.pid}`;
  const folder = join(process.env.HOME, '.claude/projects', process.cwd().replace(/[^A-Za-z0-9]/g, '-'));
  const record = (type, message, uuid, parentUuid) =>
    JSON.stringify({
      type,
      message,
      uuid,
      parentUuid,
      sessionId,
      cwd: process.cwd(),
      timestamp: new Date().toISOString(),
    });
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, `${sessionId}.jsonl`),
    `${record('user', { role: 'user', content: transcript }, 'a', null)}\n`,
  );
}
process.exitCode = Number(status);
