/** A thread that sends back its data, and ends. */
import { parentPort, workerData } from 'node:worker_threads';

const data: unknown = workerData;
parentPort?.postMessage(data);
