/** The entry of the database thread. */
import { collectWhenIdle } from '../../collect-when-idle.ts';
import { yieldToListeners } from '../../yield-to-listeners.ts';
import { operations } from '../operations.ts';
import { serveOperations } from './serve-operations.ts';

yieldToListeners(5);
collectWhenIdle();
await serveOperations(operations);
