/** Sends one transcript to the ingest API, whole or in parts, with a part in memory at a time for each upload under way. */
import type { IngestClient } from './ingest-client.ts';
import { recordOfLine } from './record-of-line.ts';
import { type LinesPart, partsOf, planParts } from './transcript-parts.ts';
import type { FoundTranscript, TranscriptHead, TranscriptSource } from './transcript-source.ts';

export type SendResult =
  | { kind: 'sent'; bytes: number; cut_lines: number }
  | { kind: 'empty' }
  | { kind: 'refused'; reason: string };

type Sending = {
  source: TranscriptSource;
  found: FoundTranscript;
  head: TranscriptHead;
  client: Pick<IngestClient, 'upload'>;
  /** Parts of its beginning that were sent before. */
  sentParts: number;
  /** Called as the beginning that is sent grows. @param bytes of the file, since the last call */
  advanced(parts: number, bytes: number): void;
};

/** Uploads of one transcript under way at once: the next part is made while one travels. */
const WINDOW = 2;

/** @throws {OperatorError} the service has ended @throws the error of the file system */
export async function sendTranscript({ source, found, head, client, ...rest }: Sending): Promise<SendResult> {
  const { sentParts, advanced } = rest;
  const { count, file_sha256, whole } = await planParts(source.lines(found));
  if (count === 0) return { kind: 'empty' };
  let [bytes, cut_lines]: [number, number] = [0, 0];
  const upload = (part: LinesPart) => {
    const named = count === 1 ? {} : { part: { index: part.index, count, file_sha256, from_line: part.from_line } };
    const { body, cut } = bodyOf({ ...head, ...named }, part);
    bytes += part.bytes;
    cut_lines += cut;
    return client.upload(body);
  };
  if (whole) {
    const verdict = await upload(whole);
    if (verdict.kind === 'refused') return verdict;
    advanced(1, whole.bytes);
    return { kind: 'sent', bytes, cut_lines };
  }

  const underWay: { part: LinesPart; verdict: ReturnType<IngestClient['upload']> }[] = [];
  const settle = async () => {
    const first = underWay.shift();
    const verdict = await first?.verdict;
    if (first && verdict?.kind === 'accepted') advanced(first.part.index + 1, first.part.bytes);
    return verdict?.kind === 'refused' ? verdict : null;
  };
  try {
    for await (const part of partsOf(source.lines(found))) {
      if (part.index < sentParts) {
        advanced(part.index + 1, part.bytes);
        continue;
      }
      const verdict = upload(part);
      verdict.catch(() => {}); // it is awaited below
      part.lines = [];
      underWay.push({ part, verdict });
      const refused = underWay.length === WINDOW ? await settle() : null;
      if (refused) return refused;
    }
    while (underWay.length > 0) {
      const refused = await settle();
      if (refused) return refused;
    }
  } finally {
    await Promise.allSettled(underWay.map(({ verdict }) => verdict));
  }
  return { kind: 'sent', bytes, cut_lines };
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
