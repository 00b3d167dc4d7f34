/** The transcripts of pi: a file for each session, in a folder for each project. */
import { basename, join } from 'node:path';
import { fileLines, firstRecords } from '../read-lines.ts';
import type { FoundTranscript, Places, TranscriptHead, TranscriptSource } from '../transcript-source.ts';
import { filesBelow } from '../walk-folder.ts';

/** `<time>_<id>.jsonl` */
const SESSION_ID = /_[\w-]+/;

export const piFiles: TranscriptSource = {
  harness: 'pi',
  name: 'pi',
  isUnnamed: ({ harness_id }) => harness_id !== 'pi', // with svc start its calls name it
  folders: sessionFolders,
  async *find(places) {
    for (const folder of sessionFolders(places)) yield* filesBelow(folder, (path) => path.endsWith('.jsonl'));
  },
  sharedName: (path) => SESSION_ID.exec(basename(path))?.[0] ?? basename(path),
  head,
  lines: fileLines,
};

function sessionFolders({ env, home }: Places): string[] {
  return [join(env.PI_CODING_AGENT_DIR || join(home, '.pi', 'agent'), 'sessions')];
}

async function head(found: FoundTranscript): Promise<TranscriptHead | null> {
  const [first] = await firstRecords(found, 1);
  return first?.type === 'session' && typeof first.id === 'string' && first.id !== ''
    ? { session: { harness_id: 'pi', harness_session_id: first.id } }
    : null;
}
