/** Transcripts as a client uploads them to a running service, and as the read API then shows what came. */
import * as assert from 'uvu/assert';
import type { z } from 'zod';
import type { SessionAnswer } from '../../core/model/session.ts';
import { rawTurnsOf, requestOf, writesOf } from '../support/post-turns.ts';
import { read, type Service } from '../support/serve.ts';
import {
  harnessFiles,
  inParts,
  record,
  records,
  SESSION,
  type UploadedMessage,
  uploadBody,
} from '../support/transcript-uploads.ts';
import { onEachDatabase } from '../support/whole-service.ts';

type Accepted = { status: string; deduped: boolean; records: number; session_id: string; raw_turn_id: number };

const LIMIT = 15_379_114;
const json = { 'content-type': 'application/json' };

const post = async ({ ingest }: Service, body: BodyInit, headers: Record<string, string> = {}) => {
  const init = { method: 'POST', headers: { ...json, ...headers }, body, duplex: 'half' } as RequestInit;
  const response = await fetch(`${ingest}/v1/ingest/transcript`, init);
  return { status: response.status, text: await response.text() };
};

const uploaded = async (service: Service, message: UploadedMessage): Promise<Accepted> => {
  const { status, text } = await post(service, uploadBody(message));
  assert.is(status, 202, text);
  return JSON.parse(text) as Accepted;
};

const sessionOf = async ({ api }: Service, id: string) =>
  (await read<z.infer<typeof SessionAnswer>>(`${api}/v1/sessions/${id}`)).session;

onEachDatabase('uploaded transcripts', (test) => {
  test('an upload is kept to the byte and shown with its session, unknown records included', async ({ service }) => {
    const strange = { type: 'never-heard-of', payload: ['xyzzy \ud800', { a: null }] };
    const message = { agent_id: 'main', kind: 'interacted', records: [record(0), strange, 'torn {'] };
    const first = await uploaded(service, message);
    assert.equal([first.status, first.deduped, first.records], ['accepted', false, 3]);
    const [turn, ...others] = await rawTurnsOf(service, first.session_id);
    assert.is(others.length, 0);
    assert.equal(
      [turn?.raw_turn_id, turn?.source, turn?.format, turn?.thread_id, turn?.url, turn?.status],
      [first.raw_turn_id, 'transcript', 'transcript', 'main', '/v1/ingest/transcript', undefined],
    );
    assert.equal(turn && requestOf(turn), Buffer.from(uploadBody(message)));
    const session = await sessionOf(service, first.session_id);
    assert.equal(
      [session.harness_id, session.harness_session_id, session.started_at, session.last_seen_at, session.ended_at],
      ['claude', SESSION.harness_session_id, '2026-07-27T09:00:00.000000Z', '2026-07-27T09:00:00.000000Z', undefined],
    );

    const again = await uploaded(service, message);
    assert.equal([again.deduped, again.raw_turn_id, again.session_id], [true, first.raw_turn_id, first.session_id]);
    await uploaded(service, { records: records(60) });
    const grown = await sessionOf(service, first.session_id);
    assert.equal([grown.last_seen_at, grown.ended_at], ['2026-07-27T09:00:59.000000Z', undefined]);
    assert.is((await rawTurnsOf(service, first.session_id)).length, 2);
    assert.equal(
      [await writesOf(service, 'transcript', 'accepted'), await writesOf(service, 'transcript', 'duplicate')],
      [2, 1],
    );
    assert.not.match(service.log(), 'xyzzy');
  });

  test('the files of Claude Code and Codex, whole or in parts, are each one session with all that was sent', async ({
    service,
  }) => {
    for (const harness of ['claude', 'codex'] as const) {
      const files = harnessFiles(harness);
      const sent = files.flatMap((file) => [...inParts(file, 4).reverse(), file]);
      const ids = new Set<string>();
      for (const message of sent) ids.add((await uploaded(service, message)).session_id);
      const [id = ''] = ids;
      if (sent.length === 0) continue;
      assert.is(ids.size, 1);
      const turns = await rawTurnsOf(service, id);
      assert.equal(
        turns.map(requestOf),
        sent.map((message) => Buffer.from(uploadBody(message))),
      );
    }
  });

  test('413 over the wire: a file over the limit is refused, counted and logged, and comes in parts', async ({
    service,
  }) => {
    const line = { type: 'user', text: 'plugh '.repeat(20_000) };
    const session = { ...SESSION, harness_session_id: 'large' };
    const all = Array.from({ length: 140 }, (_, n) => ({ ...line, n }));
    const whole = uploadBody({ session, records: all });
    assert.ok(whole.byteLength > LIMIT);
    const error = '{"error":"request body exceeds the ingest size limit"}';
    assert.equal(await post(service, whole), { status: 413, text: error });
    assert.is(await writesOf(service, 'unknown', 'reject_oversize'), 1);
    assert.match(service.log(), '"path":"/v1/ingest/transcript"');
    for (const part of inParts({ session, records: all }, 50)) await uploaded(service, part);
    assert.not.match(service.log(), 'plugh');
  });

  test('what is no upload is refused in one sentence, and nothing of it is kept or logged', async ({ service }) => {
    const refused = async (body: string, headers: Record<string, string> = {}) => {
      const { status, text } = await post(service, body, headers);
      assert.equal(Object.keys(JSON.parse(text) as object), ['error']);
      assert.not.match(text, 'frotz');
      return status;
    };
    assert.is(await refused('{"session":{"harness_session_id":"frotz"},"records":[{"frotz":]}'), 400);
    assert.is(await refused('{"session":{"harness_session_id":"frotz"},"records":"frotz"}'), 400);
    assert.is(await refused('frotz', { 'content-type': 'text/plain' }), 415);
    assert.is(await refused('{}', { origin: 'http://frotz.example' }), 403);
    assert.not.match(service.log(), 'frotz');
  });

  test.run();
});
