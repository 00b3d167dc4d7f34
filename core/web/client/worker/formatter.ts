/** The page's side of the text worker: one text after the other, and a worker that takes too long is ended and replaced. */
import type { TextRequest, TextTokens, WorkerAnswer } from './tokens.ts';

const PARSE_MS = 250;
const LOAD_MS = 10_000;

type Job = { request: TextRequest; done: (tokens: TextTokens | null) => void };

export type TextWorker = Pick<Worker, 'postMessage' | 'terminate' | 'onmessage' | 'onerror'>;

export type Formatter = {
  /** Tokens of the text; null: it cannot be formatted in time. @returns gives the request up */
  format(request: TextRequest, done: (tokens: TextTokens | null) => void): () => void;
};

/** @param start a new worker; null: there can be none here */
export function textFormatter(start: () => TextWorker | null): Formatter {
  const queue: Job[] = [];
  let worker: TextWorker | null = null;
  let running: Job | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let id = 0;

  const finish = (tokens: TextTokens | null) => {
    clearTimeout(timer);
    const job = running;
    running = null;
    job?.done(tokens);
    next();
  };
  const end = () => {
    worker?.terminate();
    worker = null;
    finish(null);
  };
  const begin = () => {
    worker = start();
    if (!worker) return;
    worker.onerror = end;
    worker.onmessage = ({ data }: MessageEvent<WorkerAnswer>) => {
      if (data.id !== id || !running) return;
      if ('tokens' in data) return finish(data.tokens);
      clearTimeout(timer);
      timer = setTimeout(end, PARSE_MS);
    };
  };
  const next = () => {
    if (running) return;
    const job = queue.shift();
    if (!job) return;
    running = job;
    if (!worker) begin();
    if (!worker) return finish(null);
    id += 1;
    timer = setTimeout(end, LOAD_MS);
    worker.postMessage({ id, request: job.request });
  };

  return {
    format(request, done) {
      const job: Job = { request, done };
      queue.push(job);
      queueMicrotask(next);
      return () => {
        job.done = () => undefined;
        const at = queue.indexOf(job);
        if (at >= 0) queue.splice(at, 1);
      };
    },
  };
}
