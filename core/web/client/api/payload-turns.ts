/** A queue for the reads that are large: at most three at once, since the service has eight for all who read. */
const AT_ONCE = 3;

let running = 0;
const queue: (() => void)[] = [];

/** Runs when its turn comes; one that is given up meanwhile never runs. */
export async function inTurn<T>(run: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  if (running < AT_ONCE) running += 1;
  else await turn(signal); // whoever ends hands its turn on
  try {
    return await run();
  } finally {
    const next = queue.shift();
    if (next) next();
    else running -= 1;
  }
}

function turn(signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const start = () => {
      signal?.removeEventListener('abort', giveUp);
      resolve();
    };
    const giveUp = () => {
      queue.splice(queue.indexOf(start), 1);
      reject(signal?.reason);
    };
    queue.push(start);
    signal?.addEventListener('abort', giveUp, { once: true });
  });
}
