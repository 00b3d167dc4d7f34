/** A client that gives up at the first 429, taught to retry. A session with a model on this machine, which has no list price. */
import { answers, asks, calls, type Script, use } from '../script.ts';
import { localTools } from '../tools.ts';

const CLIENT = `export async function forecast(harbour) {
  const response = await fetch(\`\${BASE}/forecast/\${harbour}\`, { signal: AbortSignal.timeout(3000) });
  if (!response.ok) throw new Error(\`weather: \${response.status}\`);
  return response.json();
}`;

const RETRYING = `const ATTEMPTS = 4;
const BUDGET_MS = 10_000; // the page waits no longer

export async function forecast(harbour, { now = Date.now, sleep = setTimeout } = {}) {
  const deadline = now() + BUDGET_MS;
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(\`\${BASE}/forecast/\${harbour}\`, { signal: AbortSignal.timeout(3000) });
    if (response.ok) return response.json();
    const wait = retryAfter(response.headers.get('retry-after'), now()) ?? Math.random() * 250 * 2 ** attempt;
    const worthIt = response.status === 429 || response.status >= 500;
    if (!worthIt || attempt === ATTEMPTS || now() + wait > deadline) throw new Error(\`weather: \${response.status}\`);
    await sleep(wait);
  }
}

/** Milliseconds to wait: the header holds seconds, or a date. */
export function retryAfter(header, now) {
  if (header === null) return null;
  const seconds = Number(header);
  const until = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1000;
  return Number.isNaN(until) ? null : Math.max(0, until);
}
`;

export const weatherRetry: Script = {
  slug: 'weather-retry',
  wire: 'ollama',
  minutes_ago: 150,
  agent: 'notebook',
  harness: { id: 'notebook', version: '0.4.2', cwd: '/home/dev/ferrybook' },
  model: 'qwen2.5-coder:14b',
  system: 'You are a programming assistant. Use the tools to look at the project before you answer.',
  preamble_tokens: 240,
  tools: localTools,
  steps: [
    asks('Our weather client gives up at the first 429 answer. How should it retry?'),
    calls('', use('read_file', { path: 'src/weather/client.js' }, CLIENT, 0.1)),
    answers(
      'Retry what may pass by itself (429 and 5xx), never other 4xx answers. Wait longer each time, and add chance so that all servers do not come back at the same moment:\n\n1. After attempt n wait a random time between 0 and 250 ms times 2 to the power of n (exponential backoff with full jitter).\n2. If the answer has a `Retry-After` header, wait as long as it says instead.\n3. Give up after 4 attempts, with the error of the last one.\n\nShall I write it?',
    ),
    asks('Yes. Mind that Retry-After is sometimes a date, and that the page has only ten seconds.', 60),
    calls(
      'Both belong in the code: the header in its two forms, and one deadline for all attempts together.',
      use('write_file', { path: 'src/weather/client.js', content: RETRYING }, 'written, 29 lines', 0.1),
    ),
    calls(
      '',
      use(
        'run_tests',
        { path: 'test/weather/client.test.js' },
        'ok    a 429 is tried again\nok    a 404 is not\nok    Retry-After in seconds\nok    Retry-After as a date\nok    a date in the past means now\nok    the budget ends it\n6 passed',
        4.2,
      ),
    ),
    answers(
      'Done, and the 6 tests pass. A 429 or 5xx is tried up to 4 times; `Retry-After` counts in both forms, and a date that has passed means at once. Before each wait it checks the deadline: if the wait would go past ten seconds, it fails right away instead of letting the passenger wait for nothing.',
    ),
  ],
};
