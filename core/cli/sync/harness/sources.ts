/** The harnesses whose transcripts can be found. A new one is a file of its own and one line here. */

import type { TranscriptSource } from '../transcript-source.ts';
import { claudeFiles } from './claude-files.ts';
import { codexFiles } from './codex-files.ts';
import { geminiFiles } from './gemini-files.ts';
import { opencodeFiles } from './opencode-files.ts';
import { piFiles } from './pi-files.ts';

export const transcriptSources: readonly TranscriptSource[] = [
  ...[claudeFiles, codexFiles, geminiFiles, opencodeFiles, piFiles],
];
