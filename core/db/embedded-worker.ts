/** The entry of the database thread. */
import { questions } from './questions.ts';
import { serveQuestions } from './serve-questions.ts';

await serveQuestions(questions);
