/** Sends one transcript to the ingest API, whole or in parts, with a part in memory at a time for each upload under way. */
import type { IngestClient } from './ingest-client.ts';
import { recordOfLine } from './record-of-line.ts';
import { type LinesPart, type Prefix, partsOf, planParts } from './transcript-parts.ts';
import type { FoundTranscript, TranscriptHead, TranscriptSource } from './transcript-source.ts';

/** `prefix`: what a later version of the file need not send again; null: nothing. `purged`: its session was, and none of it is stored. */
export type SendResult =
  | { kind: 'sent'; bytes: number; cut_lines: number; prefix: Prefix | null }
  | { kind: 'empty' }
  | { kind: 'purged' }
  | { kind: 'refused'; reason: string };

type Sending = {
  source: TranscriptSource;
  found: FoundTranscript;
  head: TranscriptHead;
  client: Pick<IngestClient, 'upload'>;
  /** What was sent of its beginning, if that has not changed; null: nothing. */
  prefix: Prefix | null;
  /** Called as the beginning that is sent grows. @param bytes of the file, since the last call */
  advanced(prefix: Prefix, bytes: number): void;
};

/** Uploads of one transcript under way at once: the next part is made while one travels. */
const WINDOW = 2;

/**
 * Sends what the service does not have: of a file that goes on from the prefix the rest, else all of it, to an older build in counted parts.
 * @throws {OperatorError} the service has ended @throws the error of the file system
 */
export async function sendTranscript(sending: Sending): Promise<SendResult> {
  const rest = await sendChained(sending);
  const sent = rest ?? (sending.prefix && (await sendChained({ ...sending, prefix: null })));
  return sent ?? sendCounted(sending);
}

/** In parts that go on from each other. Null: it does not begin with the prefix, or the service does not take such a part. */
async function sendChained({ source, found, head, client, prefix, advanced }: Sending): Promise<SendResult | null> {
  const uploads = openUploads(client, (part) => advanced(through(part), part.bytes));
  const skipped = { parts: prefix?.parts ?? 0, bytes: 0 };
  let last: LinesPart | null = null;
  try {
    for await (const part of partsOf(source.lines(found))) {
      last = part;
      if (part.index < skipped.parts) {
        skipped.bytes += part.bytes;
        const isEnd = part.index + 1 === skipped.parts;
        if (part.is_last || (isEnd && part.through_sha256 !== prefix?.sha256)) return null;
        if (isEnd) advanced(through(part), skipped.bytes);
        continue;
      }
      const isWhole = part.index === 0 && part.is_last;
      const { from_line, prefix_sha256, through_sha256, is_last } = part;
      const place = { from_line, ...(prefix_sha256 !== null && { prefix_sha256 }), through_sha256, is_last };
      const refused =
        (is_last ? await uploads.settled() : null) ??
        (await uploads.begin(isWhole ? head : { ...head, part: place }, part));
      if (refused) return refused.kind === 'purged' ? refused : null;
    }
    const refused = await uploads.settled();
    if (refused) return refused.kind === 'purged' || last?.index === 0 ? refused : null;
  } finally {
    await uploads.ended();
  }
  if (!last) return { kind: 'empty' };
  const { index, prefix_sha256 } = last;
  return {
    ...{ kind: 'sent', ...uploads.sent() },
    prefix: prefix_sha256 === null ? null : { parts: index, sha256: prefix_sha256 },
  };
}

const through = ({ index, through_sha256 }: LinesPart): Prefix => ({ parts: index + 1, sha256: through_sha256 });

/** In parts of which each names how many there are. Of a later version all are sent. */
async function sendCounted({ source, found, head, client }: Sending): Promise<SendResult> {
  const { count, file_sha256 } = await planParts(source.lines(found));
  const uploads = openUploads(client, () => {});
  try {
    for await (const part of partsOf(source.lines(found))) {
      const { index, from_line } = part;
      const refused = await uploads.begin({ ...head, part: { index, count, file_sha256, from_line } }, part);
      if (refused) return refused;
    }
    const refused = await uploads.settled();
    if (refused) return refused;
  } finally {
    await uploads.ended();
  }
  return { kind: 'sent', ...uploads.sent(), prefix: null };
}

type Refused = Extract<SendResult, { kind: 'refused' | 'purged' }>;

/** The uploads of a file, a few at a time. @param accepted called for each part, in order */
function openUploads(client: Pick<IngestClient, 'upload'>, accepted: (part: LinesPart) => void) {
  const underWay: { part: LinesPart; verdict: ReturnType<IngestClient['upload']> }[] = [];
  let [bytes, cut_lines]: [number, number] = [0, 0];
  const settle = async (): Promise<Refused | null> => {
    const first = underWay.shift();
    const verdict = await first?.verdict;
    if (first && verdict?.kind === 'accepted') accepted(first.part);
    return !verdict || verdict.kind === 'accepted' ? null : verdict;
  };
  return {
    /** @param named what is sent beside the records @returns what was refused of those before it */
    begin: async (named: object, part: LinesPart): Promise<Refused | null> => {
      const { body, cut } = bodyOf(named, part);
      bytes += part.bytes;
      cut_lines += cut;
      const verdict = client.upload(body);
      verdict.catch(() => {}); // it is awaited later
      part.lines = [];
      underWay.push({ part, verdict });
      return underWay.length === WINDOW ? settle() : null;
    },
    /** Once all are accepted, or one is refused. */
    settled: async (): Promise<Refused | null> => {
      for (;;) {
        if (underWay.length === 0) return null;
        const refused = await settle();
        if (refused) return refused;
      }
    },
    /** Once none is under way, whatever becomes of them. */
    ended: () => Promise.allSettled(underWay.map(({ verdict }) => verdict)),
    sent: () => ({ bytes, cut_lines }),
  };
}

/** The body of an upload in pieces, the records byte for byte as the file has them. */
function bodyOf(head: object, { lines }: LinesPart): { body: Buffer[]; cut: number } {
  const text = JSON.stringify(head);
  const body: Buffer[] = [Buffer.from(`${text.slice(0, -1)},"records":[`)];
  let cut = 0;
  for (const [i, line] of lines.entries()) {
    const { bytes, is_cut } = recordOfLine(line);
    if (i > 0) body.push(COMMA);
    body.push(bytes);
    if (is_cut) cut++;
  }
  body.push(END);
  return { body: [Buffer.concat(body)], cut };
}

const COMMA = Buffer.from(',');
const END = Buffer.from(']}');
