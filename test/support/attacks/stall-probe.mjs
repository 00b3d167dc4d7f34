/** Small requests at a steady rate, from a thread that nothing else can hold up: the longest wait for a response so far. */
import { Agent, get } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

const { url, everyMs } = workerData;
const agent = new Agent({ keepAlive: true });
const pending = new Set();
let worstMs = 0;
let failures = 0;

const send = () => {
  const began = performance.now();
  pending.add(began);
  get(url, { agent }, (response) => response.resume().on('end', () => finish(began))).on('error', () => {
    failures += 1;
    finish(began);
  });
};

/** @param {number} began */
function finish(began) {
  pending.delete(began);
  worstMs = Math.max(worstMs, performance.now() - began);
}

const timer = setInterval(() => pending.size < 4 && send(), everyMs);
parentPort.on('message', (message) => {
  if (message === 'stop') {
    clearInterval(timer);
    agent.destroy();
    parentPort.close();
    return;
  }
  const waiting = Math.max(0, ...[...pending].map((began) => performance.now() - began));
  parentPort.postMessage({ worstMs: Math.max(worstMs, waiting), failures });
  worstMs = 0;
  failures = 0;
});
