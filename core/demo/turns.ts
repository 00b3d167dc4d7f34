/** The turns of the demo: its scripts and runs as the bodies that a sender of captures would post, timed back from now. */
import type { z } from '@hono/zod-openapi';
import type { IngestTurn } from '../engine/ingest/ingest-turn.ts';
import type { AgentRun } from './agent-run.ts';
import { anthropicWire } from './anthropic-wire.ts';
import { chatWire } from './chat-wire.ts';
import { ollamaWire } from './ollama-wire.ts';
import { responsesWire } from './responses-wire.ts';
import type { RunCall } from './run-thread.ts';
import { fareReport } from './runs/fare-report.ts';
import { nightRuns } from './runs/night-run.ts';
import { strangePage } from './runs/strange-page.ts';
import { summerTimetable } from './runs/summer-timetable.ts';
import type { DemoCall, DemoLine, DemoUsage, NumberedAnswer, Script, Wire } from './script.ts';
import { cardLayout } from './sessions/card-layout.ts';
import { flakyMidnightTest } from './sessions/flaky-midnight-test.ts';
import { notificationMemory } from './sessions/notification-memory.ts';
import { passengerImport } from './sessions/passenger-import.ts';
import { releaseRollback } from './sessions/release-rollback.ts';
import { slowDepartures } from './sessions/slow-departures.ts';
import { weatherRetry } from './sessions/weather-retry.ts';
import { cachedBy, outputOf, tokensIn } from './tokens.ts';

export type DemoTurn = z.infer<typeof IngestTurn>;

/** Oldest first. */
const scripts: readonly Script[] = [
  notificationMemory,
  passengerImport,
  cardLayout,
  slowDepartures,
  releaseRollback,
  weatherRetry,
  flakyMidnightTest,
];

const wires: Record<Script['wire'], Wire> = {
  anthropic: anthropicWire,
  responses: responsesWire,
  chat: chatWire,
  ollama: ollamaWire,
};

/**
 * Every turn of every session, each after the one that it continues. Ids are fixed and only times depend on `now`, so turns that were
 * stored once are recognised.
 */
export const demoTurns = (now: Date): DemoTurn[] => [
  ...scripts.flatMap((script) => turnsOf(script, now)),
  ...[summerTimetable(), ...nightRuns(), fareReport(), strangePage()].flatMap((run) => runTurns(run, now)),
];

function runTurns({ slug, minutes_ago, cwd, calls }: AgentRun, now: Date): DemoTurn[] {
  const began = now.getTime() - minutes_ago * 60_000;
  const inTime = [...calls].sort((one, other) => one.at - other.at);
  return inTime.map((call, i) => runTurn({ slug, cwd, n: i + 1, began }, call));
}

function runTurn(
  { slug, cwd, n, began }: { slug: string; cwd: string; n: number; began: number },
  { thread_id, at, seconds, status, request, body }: RunCall,
): DemoTurn {
  const sent = began + Math.round(at * 1000);
  return {
    provider: 'anthropic',
    agent_name: 'claude',
    request,
    raw_response: Buffer.from(body(`${slug}_${n}`)).toString('base64'),
    meta: {
      request_id: `demo-${slug}-${n}`,
      ...(thread_id && { thread_id }),
      method: 'POST',
      path: anthropicWire.path,
      content_type: status === 200 ? anthropicWire.contentType : 'application/json',
      upstream_status: status,
      ts_request: new Date(sent).toISOString(),
      captured_at: new Date(sent + Math.round(seconds * 1000)).toISOString(),
      elapsed_seconds: seconds,
    },
    session: {
      harness_id: 'claude',
      harness_session_id: `demo-${slug}`,
      harness_version: '2.1.197',
      cwd,
      name: slug,
      harness_metadata: { demo: true },
    },
  };
}

function turnsOf(script: Script, now: Date): DemoTurn[] {
  const wire = wires[script.wire];
  const turns: DemoTurn[] = [];
  let history: DemoLine[] = [];
  let cached = 0; // input tokens that the provider has cached since the last call
  let at = now.getTime() - script.minutes_ago * 60_000;
  for (const step of script.steps) {
    if (step.kind === 'asks') {
      if (history.length > 0) at += step.after * 1000;
      history = [...history, step];
      continue;
    }
    const request = wire.request(script, history);
    const input = script.preamble_tokens + tokensIn(JSON.stringify(request.messages ?? request.input));
    const spent = { input, cached: cachedBy(wire.provider, cached), ...outputOf(step) };
    const call: DemoCall = { slug: script.slug, model: script.model, n: turns.length + 1, at: new Date(at), spent };
    if (step.kind === 'refuses') {
      turns.push(
        turnOf(script, call, wire, request, { status: step.status, body: wire.refusal(step, call), seconds: 0.4 }),
      );
      at += 2_400;
      continue;
    }
    const answer: NumberedAnswer = { ...step, n: history.filter(({ kind }) => kind === 'answers').length + 1 };
    const seconds = secondsOf(script, spent);
    turns.push(turnOf(script, call, wire, request, { status: 200, body: wire.answer(answer, call), seconds }));
    at += Math.round((seconds + step.uses.reduce((sum, used) => sum + used.seconds, 0)) * 1000);
    cached = input;
    history = [...history, answer];
  }
  return turns;
}

function turnOf(
  { slug, agent, harness }: Script,
  { n, at }: DemoCall,
  wire: Wire,
  request: Record<string, unknown>,
  { status, body, seconds }: { status: number; body: string; seconds: number },
): DemoTurn {
  return {
    provider: wire.provider,
    ...(agent && { agent_name: agent }),
    request,
    raw_response: Buffer.from(body).toString('base64'),
    meta: {
      request_id: `demo-${slug}-${n}`,
      method: 'POST',
      path: wire.path,
      content_type: status === 200 ? wire.contentType : 'application/json',
      upstream_status: status,
      ts_request: at.toISOString(),
      captured_at: new Date(at.getTime() + seconds * 1000).toISOString(),
      elapsed_seconds: seconds,
    },
    session: {
      ...(harness && {
        harness_id: harness.id,
        harness_session_id: `demo-${slug}`,
        harness_version: harness.version,
        cwd: harness.cwd,
        name: slug,
      }),
      harness_metadata: { demo: true },
    },
  };
}

/** The time to the first token, and from there at the speed of a hosted model or of a local one. */
const secondsOf = ({ wire }: Script, { output }: DemoUsage): number =>
  Math.round((0.9 + output / (wire === 'ollama' ? 22 : 70)) * 1000) / 1000;
