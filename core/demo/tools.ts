/** The tools that the demo's clients declare: the few that its sessions use, in the words of the client that has them. */
import { type DemoTool, type ToolUse, use } from './script.ts';

const strings = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required: names,
});

export const claudeTools: readonly DemoTool[] = [
  { name: 'Bash', description: 'Runs a command in a shell and returns its output.', parameters: strings('command') },
  { name: 'Read', description: 'Reads a file from the local file system.', parameters: strings('file_path') },
  {
    name: 'Edit',
    description: 'Replaces an exact string in a file.',
    parameters: strings('file_path', 'old_string', 'new_string'),
  },
];

export const bash = (command: string, result: string, seconds?: number): ToolUse =>
  use('Bash', { command }, result, seconds);

export const read = (file_path: string, result: string): ToolUse => use('Read', { file_path }, result, 0.2);

export const edit = (file_path: string, old_string: string, new_string: string): ToolUse =>
  use('Edit', { file_path, old_string, new_string }, `The file ${file_path} has been updated.`, 0.2);

export const codexTools: readonly DemoTool[] = [
  {
    name: 'exec_command',
    description: 'Runs a command and returns its output.',
    parameters: strings('cmd'),
  },
];

/** Codex reports the exit code in the output. */
export const exec = (cmd: string, output: string, { code = 0, seconds = 1.2 } = {}): ToolUse =>
  use(
    'exec_command',
    { cmd },
    `Wall time: ${seconds.toFixed(4)} seconds\nProcess exited with code ${code}\nOutput:\n${output}\n`,
    seconds,
  );

export const opencodeTools: readonly DemoTool[] = [
  { name: 'bash', description: 'Executes a bash command.', parameters: strings('command', 'description') },
  {
    name: 'edit',
    description: 'Performs an exact replacement in a file.',
    parameters: strings('filePath', 'oldString', 'newString'),
  },
];

export const shell = (command: string, description: string, result: string, seconds?: number): ToolUse =>
  use('bash', { command, description }, result, seconds);

export const localTools: readonly DemoTool[] = [
  { name: 'read_file', description: 'Read a file of the project', parameters: strings('path') },
  { name: 'write_file', description: 'Write a file of the project', parameters: strings('path', 'content') },
  { name: 'run_tests', description: 'Run the tests of one file', parameters: strings('path') },
];
