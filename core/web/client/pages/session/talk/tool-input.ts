/** The input of a tool call as parts to show: edits of files as before and after, new files and commands as code, all else by its key. */

export type InputPart =
  | { kind: 'edit'; path: string; before: string; after: string }
  | { kind: 'code'; key: string; text: string; language: string }
  | { kind: 'diff'; key: string; text: string }
  | { kind: 'text'; key: string; text: string }
  | { kind: 'json'; key: string; value: unknown };

const MOST_EDITS = 200;
const COMMANDS = ['command', 'cmd'];
const PATHS = ['file_path', 'path', 'filePath', 'notebook_path', 'filename'];

/** @param input as it was recorded, so of any shape */
export function inputParts(input: unknown): InputPart[] {
  if (typeof input === 'string') return input === '' ? [] : [textPart('', input, '')];
  if (!isRecord(input)) return input === undefined || input === null ? [] : [{ kind: 'json', key: '', value: input }];
  const path = PATHS.map((key) => input[key]).find((value) => typeof value === 'string') ?? '';
  const used = new Set<string>();
  const edits = editsOf(input, path, used);
  const rest = Object.entries(input).filter(([key]) => !used.has(key));
  const named = rest.flatMap(([key, value]): InputPart[] => {
    if (typeof value === 'string') return [textPart(key, value, path)];
    const words = COMMANDS.includes(key) ? wordsOf(value) : null;
    return [words === null ? { kind: 'json', key, value } : { kind: 'code', key, text: words, language: 'bash' }];
  });
  return [...named.filter(isShort), ...edits, ...named.filter((part) => !isShort(part))];
}

/** The old and new text of each edit; other members of an edit stay beside it, so that nothing is lost. */
function editsOf(input: Record<string, unknown>, path: string, used: Set<string>): InputPart[] {
  const single = editOf(input, path);
  if (single) {
    for (const key of single.keys) used.add(key);
    return [single.part];
  }
  const { edits } = input;
  if (!Array.isArray(edits) || edits.length > MOST_EDITS) return [];
  const parts = edits.flatMap((edit): InputPart[] => {
    const one = isRecord(edit) ? editOf(edit, path) : null;
    if (!one) return [];
    const others = Object.entries(edit as object).filter(([key]) => !one.keys.includes(key));
    return [one.part, ...others.map(([key, value]): InputPart => ({ kind: 'json', key, value }))];
  });
  if (parts.filter(({ kind }) => kind === 'edit').length !== edits.length) return [];
  used.add('edits');
  return parts;
}

const EDIT_KEYS = [
  ['old_string', 'new_string'],
  ['oldString', 'newString'],
  ['old_str', 'new_str'],
  ['oldText', 'newText'],
] as const;

function editOf(edit: Record<string, unknown>, path: string) {
  for (const keys of EDIT_KEYS) {
    const [before, after] = [edit[keys[0]], edit[keys[1]]];
    if (typeof before === 'string' && typeof after === 'string')
      return { keys: [...keys] as string[], part: { kind: 'edit', path, before, after } as const };
  }
  return null;
}

function textPart(key: string, text: string, path: string): InputPart {
  if (COMMANDS.includes(key)) return { kind: 'code', key, text, language: 'bash' };
  if (isPatch(text)) return { kind: 'diff', key, text };
  if ((key === 'content' || key === 'file_text' || key === 'new_source') && path !== '')
    return { kind: 'code', key, text, language: languageOf(path) };
  return { kind: 'text', key, text };
}

/** Whether a text is a patch: the unified form, or the one that Codex writes. */
export const isPatch = (text: string): boolean =>
  text.startsWith('*** Begin Patch') || text.startsWith('diff --git ') || /^--- [^\n]{1,500}\n\+\+\+ /.test(text);

const wordsOf = (value: unknown): string | null =>
  Array.isArray(value) && value.every((word) => typeof word === 'string') ? value.join(' ') : null;

const isShort = (part: InputPart): boolean =>
  part.kind === 'text' && part.text.length <= 120 && !part.text.includes('\n');

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The ending of a file's name, which names its language; '' where it has none. */
export const languageOf = (path: string): string => /\.([A-Za-z0-9]{1,10})$/.exec(path)?.[1]?.toLowerCase() ?? '';
