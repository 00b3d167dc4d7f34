/** Skills: what agents should know how to do, written by hand or drawn from recorded sessions, published in versions. */
import { v7 } from 'uuid';
import type { Cassette } from '../../core/cassette/contract.ts';
import { contractOf } from '../../core/http/contract.ts';
import { knownQuery } from '../../core/http/known-query.ts';
import { refuseNul } from '../../core/http/nul.ts';
import { routes } from '../../core/http/routes.ts';
import { literalFirst, unrouted } from '../../core/http/unrouted.ts';
import { downloadApp } from './download.ts';
import { generateApp } from './generate.ts';
import { headsApp } from './heads.ts';
import { listApp } from './list.ts';
import { manifest, type SkillsConfig, type SkillsHttp } from './manifest.ts';
import { migrations } from './migrations.ts';
import { promptsApp } from './prompts.ts';
import { answerFailure } from './refused.ts';
import { toolsApp } from './tools.ts';
import { versionsApp } from './versions.ts';

function skillsApp() {
  const app = routes<SkillsHttp>();
  app.use(async (c, next) => {
    c.set('requestId', c.req.header('x-request-id') ?? v7());
    await next();
  });
  app.use(refuseNul());
  app.use(literalFirst(app));
  app.use(knownQuery(app));
  for (const part of [listApp(), generateApp(), toolsApp(), promptsApp(), headsApp(), versionsApp(), downloadApp()])
    app.route('/', part);
  let document: unknown = null;
  app.get('/ping', (c) => c.json({ status: 'ok' }));
  app.get('/openapi', (c) => {
    const { title, version } = { title: manifest.cassette.display_name ?? '', version: manifest.cassette.version };
    document ??= { ...contractOf(app, { title, version }), 'x-svc-cassette': manifest };
    return c.json(document as Record<string, unknown>);
  });
  app.notFound(unrouted(app));
  app.onError(answerFailure);
  return app;
}

const app = skillsApp();

export default {
  manifest,
  migrations,
  fetch: (request, env) => app.fetch(request, env),
} satisfies Cassette<SkillsConfig>;
