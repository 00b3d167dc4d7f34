/** POST /api/skills/generate: makes a skill out of sessions. Each claim in it links to where it was said. */
import { randomUUID } from 'node:crypto';
import { createRoute } from '@hono/zod-openapi';
import { Failure, json, routes } from '../../core/http/routes.ts';
import { drawn, SkillAnswer } from './claims.ts';
import { callerOf, databaseOf, jsonBody } from './http.ts';
import { keyFor, requestCompletion } from './llm.ts';
import type { SkillsHttp } from './manifest.ts';
import { Generation, Skill } from './model.ts';
import { promptFor } from './prompt.ts';
import { SkillRefusal } from './refused.ts';
import { createSkill, removeSkill } from './store.ts';
import { findSession, stepsOf, type TranscriptStep } from './transcript.ts';

const generateSkill = createRoute({
  method: 'post',
  path: '/api/skills/generate',
  operationId: 'generateSkill',
  tags: ['skills'],
  summary: 'Generates a skill from recorded sessions',
  description:
    'A configured LLM reads their transcripts, without secrets, and draws claims from them. A claim stays when a span says so; it ' +
    'links there.',
  middleware: jsonBody(),
  request: { body: { required: true, content: { 'application/json': { schema: Generation } } } },
  responses: {
    201: json(Skill, 'The generated skill'),
    400: json(Failure, 'The body is invalid, or sessionIds are missing or empty', [
      'bad-request',
      'Cannot read the body: "sessionIds" must name at least one session',
    ]),
    404: json(Failure, 'One or more of the sessions do not exist', [
      'session-unknown',
      'Cannot generate the skill: there is no session with one of these ids',
    ]),
    413: json(Failure, 'The body is too large', ['body-too-large', 'Cannot read the body: it is larger than 4 MiB']),
    422: json(Failure, 'The sessions had nothing usable, or no LLM key is configured', [
      'no-llm-key',
      'Cannot generate the skill: no LLM key is configured; set "llm.api_key"',
    ]),
    500: json(Failure, 'Generating or keeping it failed', [
      'generation-failed',
      'Cannot generate the skill: the model answered 429',
    ]),
    501: json(Failure, 'No core URL is configured, or no database', [
      'no-core',
      'Cannot generate the skill: no core is configured, where transcripts are read',
    ]),
  },
});

/** Less than the time for which the service waits for the head of a response. */
const DEADLINE_MS = 100_000;

export const generateApp = () =>
  routes<SkillsHttp>().openapi(generateSkill, async (c) => {
    const { CORE: core, CONFIG: config } = c.env;
    const { sessionIds, hint = {} } = c.req.valid('json');
    if (!core)
      throw new SkillRefusal('no-core', 'Cannot generate the skill: no core is configured, where transcripts are read');
    const db = databaseOf(c);
    const ids = [...new Set(sessionIds.map((id) => id.toLowerCase()))];
    const signal = AbortSignal.any([c.req.raw.signal, AbortSignal.timeout(DEADLINE_MS)]);
    for (const id of ids) await findSession(core, id, signal);
    const key = keyFor(config);
    if (key === '')
      throw new SkillRefusal('no-llm-key', 'Cannot generate the skill: no LLM key is configured; set "llm.api_key"');
    const characters = Math.floor(config['transcript.max_characters'] / ids.length);
    const steps: TranscriptStep[] = [];
    for (const id of ids) steps.push(...(await stepsOf(core, id, { characters, sources: new Set(ids), signal })));
    const unusable = (why: string) => new SkillRefusal('nothing-usable', `Cannot generate the skill: ${why}`);
    if (steps.length === 0) throw unusable('the sessions hold no conversation');
    const fence = randomUUID().replaceAll('-', '').slice(0, 16);
    const answer = await requestCompletion(config, key, promptFor(steps, hint, fence), SkillAnswer, signal);
    const skill = drawn(answer, steps, hint.name);
    if (!skill) throw unusable('the sessions say nothing that the model could draw a claim from');
    const { name, description, tags, claims, content } = skill;
    const created = await createSkill(db, {
      ...{ name, description, claims, content, tags: hint.tags ?? tags, type: hint.type ?? 'workflow' },
      ...{ visibility: 'private', isAiGenerated: true, originatingSessionIds: ids, authorId: callerOf(c) },
    });
    try {
      for (const id of ids) await findSession(core, id, signal); // a session may have been purged while the model wrote
    } catch (error) {
      await removeSkill(db, created.id);
      throw error;
    }
    return c.json(created, 201);
  });
