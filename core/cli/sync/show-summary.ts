/** The summary of a sweep, for people. */
import pc from 'picocolors';
import { counted, lasting, plain, several, sized } from '../units.ts';
import type { HarnessSummary } from './sweep.ts';

export type SyncSummary = {
  /** The address that the transcripts were sent to. */
  service: string;
  dry_run: boolean;
  seconds: number;
  harnesses: HarnessSummary[];
  /** With `dry_run`: what another run would send. */
  would_send?: { harness: string; path: string; bytes: number }[];
};

const MOST_REASONS = 20;

export function summaryText({ harnesses, seconds, would_send }: SyncSummary): string {
  const lines = would_send
    ? would_send.map(({ path, bytes }) => `${sized(bytes).padStart(9)}  ${plain(path)}`)
    : harnesses.map((one) => `${pc.cyan(one.name.padEnd(12))} ${becameOf(one)}`);
  const refused = harnesses.flatMap((one) => one.refused);
  for (const { path, reason } of refused.slice(0, MOST_REASONS))
    lines.push(`${pc.red('not sent')}  ${plain(path)}: ${reason}`);
  if (refused.length > MOST_REASONS)
    lines.push(`and ${several(refused.length - MOST_REASONS, 'other file')} (--json has all)`);
  lines.push(would_send ? wouldSend(would_send) : didSend(harnesses, seconds));
  return `${lines.join('\n')}\n`;
}

function becameOf({
  files,
  folders,
  not_read,
  sent,
  unchanged,
  copies,
  empty,
  purged,
  refused,
  sessions,
  sent_bytes,
  cut_lines,
}: HarnessSummary) {
  if (not_read !== null) return pc.yellow(`not read: ${not_read}`);
  if (files === 0) return pc.dim(`no transcripts in ${folders.map(plain).join(', ')}`);
  const parts = [
    `${several(files, 'file')}: ${counted(sent)} sent${sent === 0 ? '' : ` (${several(sessions, 'session')}, ${sized(sent_bytes)})`}`,
    `${counted(unchanged)} unchanged`,
    ...(copies === 0 ? [] : [`${counted(copies)} older ${copies === 1 ? 'copy' : 'copies'} left out`]),
    ...(empty === 0 ? [] : [`${counted(empty)} without records`]),
    ...(purged === 0 ? [] : [`${counted(purged)} of purged sessions left out`]),
    ...(refused.length === 0 ? [] : [`${counted(refused.length)} not sent`]),
    ...(cut_lines === 0 ? [] : [`${several(cut_lines, 'line')} cut, being too long`]),
  ];
  return parts.join(', ');
}

function didSend(harnesses: readonly HarnessSummary[], seconds: number): string {
  const sum = (key: 'sent' | 'sent_bytes' | 'sessions' | 'files') =>
    harnesses.reduce((total, one) => total + one[key], 0);
  const rate = sum('sent_bytes') / Math.max(seconds, 0.001);
  if (sum('sent') === 0) return `Nothing to send: ${several(sum('files'), 'file')} read in ${lasting(seconds)}`;
  return `Sent ${several(sum('sent'), 'file')} of ${several(sum('sessions'), 'session')}, ${sized(sum('sent_bytes'))} in ${lasting(seconds)} (${sized(Math.round(rate))}/s)`;
}

const wouldSend = (files: readonly { bytes: number }[]): string =>
  files.length === 0
    ? 'Nothing to send'
    : `Would send ${several(files.length, 'file')}, ${sized(files.reduce((sum, { bytes }) => sum + bytes, 0))}`;
