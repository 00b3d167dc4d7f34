/** The entry of the database thread. */
import { yieldToListeners } from '../../yield-to-listeners.ts';
import { operations } from '../questions.ts';
import { serveQuestions } from './serve-questions.ts';

yieldToListeners(5);
await serveQuestions(operations);
