/** The entry of the database thread. */
import { yieldToListeners } from '../../yield-to-listeners.ts';
import { operations } from '../operations.ts';
import { serveQuestions } from './serve-operations.ts';

yieldToListeners(5);
await serveQuestions(operations);
