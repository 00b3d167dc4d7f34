/** Sessions of ten thousand spans and more, as a transcript of Claude Code: what pages and reads are measured with. */
import { answeredBy, resulted, textBlock, userRecord, uses } from './transcript-records.ts';
import { inParts, type UploadedMessage } from './transcript-uploads.ts';

/** A trace has an agent, that many calls, and between each two of them a tool: two spans a call. */
type Size = { traces: number; calls: number };

export const LARGE_SESSIONS = {
  L10: { traces: 625, calls: 8 }, // 10,000 spans
  L1T: { traces: 1, calls: 5_000 }, // 10,000 spans of one trace
  L100: { traces: 6_250, calls: 8 }, // 100,000 spans
} as const satisfies Record<string, Size>;

export const spansIn = ({ traces, calls }: Size): number => 2 * traces * calls;

/** Of an upload, which then has some 10 MB. */
const PART_RECORDS = 10_000;

/** The uploads of a session, to be stored in their order. Each tool fails once in fifty times. */
export function largeSession(size: Size, harness_session_id: string): UploadedMessage[] {
  const session = { harness_id: 'claude', harness_session_id };
  const records = [...recordsOf(size, harness_session_id)];
  return records.length <= PART_RECORDS ? [{ session, records }] : inParts({ session, records }, PART_RECORDS);
}

/** @param name begins the ids, since a message that two sessions hold is one call, which the other inherits */
function* recordsOf({ traces, calls }: Size, name: string): Generator<object> {
  let last = '';
  let second = 0;
  const edge = (): [string, string] => {
    const parent = last;
    last = `${name}-r${second}`;
    return [parent, last];
  };
  for (let trace = 0; trace < traces; trace++) {
    yield userRecord(edge(), second++, `Question ${trace}: ${words(trace, 12)}`);
    for (let call = 0; call < calls; call++) {
      const n = trace * calls + call;
      const ends = call === calls - 1;
      const content = [textBlock(`Step ${n}. ${words(n, 10 + (n % 60))}`), ...(ends ? [] : [toolOf(n)])];
      yield answeredBy(edge(), second++, `msg_${name}_${n}`, content, {
        stop_reason: ends ? 'end_turn' : 'tool_use',
        usage: { input_tokens: 1_000 + n, output_tokens: 40 + (n % 400), cache_read_input_tokens: 10 * n },
      });
      if (ends) continue;
      const result = { ...resulted(`t${n}`, lines(n)), ...(n % 50 === 7 ? { is_error: true } : {}) };
      yield userRecord(edge(), second++, [result]);
    }
  }
}

const toolOf = (n: number) =>
  [
    uses(`t${n}`, 'Bash', { command: `grep -rn "${words(n, 2)}" test/part-${n % 97}`, description: 'Look it up' }),
    uses(`t${n}`, 'Read', { file_path: `/home/dev/atlas/src/part-${n % 97}.ts` }),
    uses(`t${n}`, 'Edit', {
      ...{ file_path: `/home/dev/atlas/src/part-${n % 97}.ts`, old_string: words(n, 8), new_string: words(n + 1, 9) },
    }),
  ][n % 3];

const VOCABULARY =
  'carry adder timetable departs platform signal express winter holiday builder route engine cache server client log'.split(
    ' ',
  );
const words = (seed: number, count: number): string =>
  Array.from({ length: count }, (_, i) => VOCABULARY[(seed * 7 + i * i) % VOCABULARY.length]).join(' ');

const lines = (n: number): string =>
  Array.from({ length: 1 + (n % 40) }, (_, i) => `src/part-${i}.ts:${n + i}: ${words(n + i, 6)}`).join('\n');
