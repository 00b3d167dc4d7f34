/** The tools of a coding agent in the length in which real ones are declared, so that what they cost stands in the bytes. */
import type { DemoTool } from '../script.ts';

const text = (description: string) => ({ type: 'string', description });
const schema = (properties: Record<string, unknown>, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

/** @param today a date that a client writes into the description of its shell: whatever stands behind it is new each day */
export const fullTools = (today = ''): readonly DemoTool[] => [
  {
    name: 'Read',
    description:
      'Reads a file from the local file system. You may read any file by its absolute path. By default up to 2,000 lines are returned ' +
      'from the beginning of the file; with offset and limit you read a part of a long one. Lines longer than 2,000 characters are cut. ' +
      'The result has line numbers as "cat -n" prints them, which are no part of the file. Images are shown to you as pictures, and a ' +
      'notebook with all of its cells and their output. Read several files that may matter in one go rather than one after the other. ' +
      'A file that exists and is empty gives a warning in place of its content.',
    parameters: schema(
      { file_path: text('The absolute path of the file'), offset: { type: 'number' }, limit: { type: 'number' } },
      ['file_path'],
    ),
  },
  {
    name: 'Edit',
    description:
      'Replaces an exact string in a file. You must have read the file in this conversation before you edit it. Take the text from the ' +
      'output of Read with its indentation as it stands behind the line number, and never with the number itself. The edit fails when ' +
      'old_string is not unique in the file: give more of its surroundings, or set replace_all to change every place, which is how you ' +
      'rename a variable. Prefer to edit what is there over writing new files, and do not add comments that nobody needs.',
    parameters: schema(
      {
        file_path: text('The absolute path of the file'),
        old_string: text('The text to replace'),
        new_string: text('What stands there afterwards; it must differ'),
        replace_all: { type: 'boolean', default: false },
      },
      ['file_path', 'old_string', 'new_string'],
    ),
  },
  {
    name: 'Write',
    description:
      'Writes a file to the local file system and replaces one that has the same name. A file that exists must have been read before. ' +
      'Do not write documentation unless you are asked for it. Files that hold secrets are never written.',
    parameters: schema({ file_path: text('The absolute path of the file'), content: text('All of the new content') }),
  },
  {
    name: 'Bash',
    description:
      `Runs a command in a persistent shell and returns its output.${today && ` Today is ${today}.`} Quote paths that contain blanks. Use the tools for ` +
      'reading and searching in place of cat, head, tail, sed, find and grep. A command may take two minutes unless you set a timeout of ' +
      'up to ten; output above 30,000 characters is cut. Independent commands go into one message with several calls, dependent ones ' +
      'are joined with &&. Before a command makes a folder, see whether its parent is there. Commit only when you are asked to, never ' +
      'change the configuration of git, never skip hooks, and never force a push. Prefer a new commit over amending one.',
    parameters: schema(
      {
        command: text('The command'),
        description: text('What it does, in five to ten words'),
        timeout: { type: 'number' },
      },
      ['command'],
    ),
  },
  {
    name: 'Grep',
    description:
      'Searches the contents of files with a regular expression in the syntax of ripgrep. Braces in code need a backslash. Output is the ' +
      'names of files, the matching lines with their surroundings, or counts; multiline lets a pattern cross the ends of lines. For a ' +
      'search that will take several rounds start an agent instead.',
    parameters: schema(
      { pattern: text('The regular expression'), path: text('Where to search'), glob: text('Which files') },
      ['pattern'],
    ),
  },
  {
    name: 'Agent',
    description:
      'Starts an agent for a task of several steps. It works by itself with tools of its own and comes back with one message, which only ' +
      'you can see: tell the person what it found. Start several at once where their tasks do not depend on each other. Say exactly what it ' +
      'shall report, and whether it is to write code or only to look. Use "reviewer" for a critical look at a change, "explorer" to ' +
      'find things in a large code base, "fact-checker" to check single statements against the sources.',
    parameters: schema({
      subagent_type: text('Which kind of agent'),
      description: text('The task in three to five words'),
      prompt: text('The whole task'),
    }),
  },
  {
    name: 'TodoWrite',
    description:
      'Keeps the list of tasks of this session, so that the person sees how far you are. Use it for work of three or more steps. Exactly ' +
      'one task is in progress at a time, and one is marked completed as soon as it is done and not before.',
    parameters: schema({
      todos: {
        type: 'array',
        items: schema({
          content: text('What is to be done'),
          status: { enum: ['pending', 'in_progress', 'completed'] },
        }),
      },
    }),
  },
];
