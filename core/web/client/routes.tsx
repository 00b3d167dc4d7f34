/** Which page an address shows. Each is loaded when it is first wanted. */

import type { ComponentType } from 'preact';
import { Route, Router } from 'preact-iso';
import { useAddress } from './address.ts';
import { hrefOf } from './base.ts';
import { NotFoundPage } from './pages/not-found-page.tsx';
import { Boundary } from './parts/boundary.tsx';
import { late } from './parts/late.tsx';

const SessionsPage = late(() => import('./pages/sessions/sessions-page.tsx'), 'SessionsPage');
const SessionPage = late(() => import('./pages/session/session-page.tsx'), 'SessionPage');
const BytesPage = late(() => import('./pages/session/bytes/bytes-page.tsx'), 'BytesPage');
const ContextPage = late(() => import('./pages/session/context/context-page.tsx'), 'ContextPage');
const SpanPage = late(() => import('./pages/span/span-page.tsx'), 'SpanPage');
const SpendPage = late(() => import('./pages/spend/spend-page.tsx'), 'SpendPage');
const FindPage = late(() => import('./pages/find/find-page.tsx'), 'FindPage');
const SkillsPage = late(() => import('./pages/skills/skills-page.tsx'), 'SkillsPage');
const CassettesPage = late(() => import('./pages/cassettes/cassettes-page.tsx'), 'CassettesPage');
const HealthPage = late(() => import('./pages/health/health-page.tsx'), 'HealthPage');
const HelpPage = late(() => import('./pages/help/help-page.tsx'), 'HelpPage');

/** Pages read their address by `useAddress`, and get no properties. */
const PAGES: readonly [path: string, page: ComponentType][] = [
  ['/', SessionsPage],
  ['/sessions', SessionsPage],
  ['/sessions/:session/calls/:call', ContextPage],
  ['/sessions/:session/calls/:call/bytes', BytesPage],
  ['/sessions/:rest+', SessionPage],
  ['/spans/:rest+', SpanPage],
  ['/spend', SpendPage],
  ['/find', FindPage],
  ['/skills/:rest*', SkillsPage],
  ['/cassettes', CassettesPage],
  ['/health', HealthPage],
  ['/help', HelpPage],
];

export function Routes() {
  const { path } = useAddress();
  if (!isDecodable(path)) return <NotFoundPage />;
  return (
    <Boundary key={path.split('/')[1]}>
      <Router>
        {PAGES.map(([route, page]) => (
          <Route path={hrefOf(route)} component={page} />
        ))}
        <Route default component={NotFoundPage} />
      </Router>
    </Boundary>
  );
}

/** The router decodes the path, and throws where a `%` begins nothing. */
function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
