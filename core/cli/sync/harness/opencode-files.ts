/** The transcripts of opencode: the sessions of a SQLite database, each read as lines that `opencode export` would make of it. */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { openSqlite, type ReadDatabase, sqliteMissing } from '../sqlite.ts';
import type { FoundTranscript, Line, Places, TranscriptHead, TranscriptSource } from '../transcript-source.ts';

export const opencodeFiles: TranscriptSource = {
  harness: 'opencode',
  name: 'opencode',
  folders: (places) => [folderOf(places)],
  notRead,
  find,
  head,
  lines,
};

const folderOf = ({ env, home }: Places): string =>
  env.OPENCODE_DATA_DIR || join(env.XDG_DATA_HOME || join(home, '.local', 'share'), 'opencode');

const databaseOf = (places: Places): string => join(folderOf(places), 'opencode.db');

/** Older versions kept a file for each part of a message. */
function notRead(places: Places): string | null {
  if (existsSync(databaseOf(places))) return sqliteMissing();
  const isOld = existsSync(join(folderOf(places), 'storage', 'message'));
  return isOld
    ? 'its files are those of an older version; the next start of a newer one makes a database of them'
    : null;
}

type SessionRow = { id: string; time_updated: number; message_at: number; part_at: number; bytes: number };

/** Of a session the size is that of its parts, and its time that of what was written last: a message gets its tokens without a new part. */
async function* find(places: Places): AsyncGenerator<FoundTranscript> {
  const file = databaseOf(places);
  if (!(await stat(file).catch(() => null))) return;
  const sessions = await sessionsIn(file).catch((error: Error) => error); // of another program's database the first query fails
  if (sessions instanceof Error) {
    const unreadable = `it is no database of opencode: ${sessions.message}`;
    yield { path: file, bytes: 0, mtimeMs: Date.now(), unreadable };
    return;
  }
  for (const { id, time_updated, message_at, part_at, bytes } of sessions)
    yield { path: `${file}#${id}`, bytes, mtimeMs: Math.max(time_updated, message_at, part_at) };
}

async function sessionsIn(file: string): Promise<SessionRow[]> {
  const database = await openSqlite(file);
  try {
    return database.all<SessionRow>(
      `select s.id, s.time_updated, coalesce(m.at, 0) as message_at, coalesce(p.at, 0) as part_at, coalesce(p.bytes, 0) as bytes
         from session s
         left join (select session_id, max(time_updated) as at from message group by session_id) m on m.session_id = s.id
         left join (select session_id, max(time_updated) as at, sum(length(data)) as bytes from part group by session_id) p
           on p.session_id = s.id
        order by s.id`,
    );
  } finally {
    database.close();
  }
}

const placeOf = ({ path }: FoundTranscript) => {
  const at = path.lastIndexOf('#');
  return { file: path.slice(0, at), id: path.slice(at + 1) };
};

async function reading<T>(found: FoundTranscript, read: (database: ReadDatabase, id: string) => T): Promise<T> {
  const { file, id } = placeOf(found);
  const database = await openSqlite(file);
  try {
    return read(database, id);
  } finally {
    database.close();
  }
}

type Stored = Record<string, unknown>;

const sessionIn = (database: ReadDatabase, id: string): Stored | undefined =>
  database.all<Stored>(
    'select id, parent_id, directory, title, version, time_created, time_updated from session where id = ?',
    id,
  )[0];

/** A sub-agent is a session of its own, as in its calls. */
async function head(found: FoundTranscript): Promise<TranscriptHead | null> {
  const session = await reading(found, sessionIn);
  if (!session) return null;
  const { parent_id } = session;
  const named = { harness_id: 'opencode', harness_session_id: String(session.id) };
  const parent = typeof parent_id === 'string' && parent_id !== '' ? parent_id : null;
  return { session: { ...named, ...(parent !== null && { parent_harness_session_id: parent }) } };
}

const MESSAGES_AT_ONCE = 50;

/** The session, then its messages in the order of their ids, which is that of their times. */
async function* lines(found: FoundTranscript): AsyncGenerator<Line[]> {
  const { file, id } = placeOf(found);
  const database = await openSqlite(file);
  try {
    const session = sessionIn(database, id);
    if (!session) return;
    const { parent_id: parentID, directory, title, version, time_created: created, time_updated: updated } = session;
    const info = { id, parentID, directory, title, version, time: { created, updated } };
    yield [lineOf({ type: 'session', timestamp: timestampOf(created), info })];
    for (let after = ''; ; ) {
      const messages = database.all<Stored>(
        `select id, time_created, data from message where session_id = ? and id > ? order by id limit ${MESSAGES_AT_ONCE}`,
        ...[id, after],
      );
      if (messages.length === 0) return;
      yield messages.map((message) => lineOf(withParts(database, id, message)));
      after = String(messages.at(-1)?.id);
    }
  } finally {
    database.close();
  }
}

function withParts(database: ReadDatabase, sessionID: string, message: Stored): object {
  const messageID = String(message.id);
  const parts = database.all<Stored>('select id, data from part where message_id = ? order by id', messageID);
  return {
    ...{ type: 'message', timestamp: timestampOf(message.time_created) },
    info: { id: messageID, sessionID, ...objectIn(message.data) },
    parts: parts.map(({ id, data }) => ({ id, messageID, sessionID, ...objectIn(data) })),
  };
}

function objectIn(data: unknown): object {
  try {
    return JSON.parse(String(data)) as object;
  } catch {
    return {};
  }
}

const lineOf = (record: object): Line => Buffer.from(JSON.stringify(record));

const timestampOf = (ms: unknown): string | undefined =>
  typeof ms === 'number' && ms > 0 && ms < Date.UTC(9_999, 0) ? new Date(ms).toISOString() : undefined;
