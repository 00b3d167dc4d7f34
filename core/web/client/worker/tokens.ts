/** What the text worker makes of a text: plain values, from which the page builds elements. None of them is HTML. */

export type Inline =
  | { type: 'text'; text: string }
  | { type: 'code'; text: string }
  | { type: 'break' }
  | { type: 'strong' | 'emphasis' | 'deleted'; children: Inline[] }
  /** `href` is one of `http:`, `https:` and `mailto:`, as `URL` writes it; `host` is where it really leads. */
  | { type: 'link'; href: string; host: string; children: Inline[] };

export type MarkdownBlock =
  | { type: 'paragraph'; children: Inline[] }
  | { type: 'heading'; depth: number; children: Inline[] }
  | { type: 'code'; language: string; lines: TextRun[] }
  | { type: 'source'; text: string }
  | { type: 'quote'; children: MarkdownBlock[] }
  | { type: 'list'; ordered: boolean; start: number; items: { checked: boolean | null; children: MarkdownBlock[] }[] }
  | { type: 'table'; header: Inline[][]; rows: Inline[][][] }
  | { type: 'rule' };

/** The looks that a run of code or of a terminal may have: fixed words, which become classes. */
export type Look =
  | 'keyword'
  | 'string'
  | 'number'
  | 'comment'
  | 'title'
  | 'attribute'
  | 'literal'
  | 'meta'
  | 'punctuation'
  | 'bold'
  | 'dim'
  | 'italic'
  | 'underline'
  | 'inverse'
  | `ansi-${number}`;

export type TextRun = { text: string; looks: readonly Look[] };

export type DiffLine = { op: 'same' | 'added' | 'removed' | 'gap'; parts: { text: string; changed: boolean }[] };

export type TextTokens =
  | { kind: 'markdown'; blocks: MarkdownBlock[] }
  | { kind: 'code' | 'json' | 'ansi'; runs: TextRun[] }
  | { kind: 'diff'; lines: DiffLine[] };

export type TextKind = 'markdown' | 'code' | 'json' | 'diff' | 'ansi';

export type TextRequest = {
  kind: TextKind;
  text: string;
  /** The name of a grammar, as people write it after the fence of a block. */
  language?: string | undefined;
  /** Of a diff: what it was before. Absent: `text` is a unified diff itself. */
  before?: string | undefined;
};

/** What the worker sends: that the parse begins, when its grammars are there, and what came of it. */
export type WorkerAnswer = { id: number; begun: true } | { id: number; tokens: TextTokens | null };
