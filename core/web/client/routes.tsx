/** Which page an address shows. Each is loaded when it is first wanted. */

import type { ComponentType } from 'preact';
import { lazy, Route, Router } from 'preact-iso';
import { useAddress } from './address.ts';
import { hrefOf } from './base.ts';
import { NotFoundPage } from './pages/not-found-page.tsx';
import { Boundary } from './parts/boundary.tsx';

const SessionsPage = lazy(() => import('./pages/sessions/sessions-page.tsx').then((part) => part.SessionsPage));
const SessionPage = lazy(() => import('./pages/session/session-page.tsx').then((part) => part.SessionPage));
const BytesPage = lazy(() => import('./pages/session/bytes/bytes-page.tsx').then((part) => part.BytesPage));
const ContextPage = lazy(() => import('./pages/session/context/context-page.tsx').then((part) => part.ContextPage));
const SpanPage = lazy(() => import('./pages/span/span-page.tsx').then((part) => part.SpanPage));
const SpendPage = lazy(() => import('./pages/spend/spend-page.tsx').then((part) => part.SpendPage));
const FindPage = lazy(() => import('./pages/find/find-page.tsx').then((part) => part.FindPage));
const SkillsPage = lazy(() => import('./pages/skills/skills-page.tsx').then((part) => part.SkillsPage));
const CassettesPage = lazy(() => import('./pages/cassettes/cassettes-page.tsx').then((part) => part.CassettesPage));
const HealthPage = lazy(() => import('./pages/health/health-page.tsx').then((part) => part.HealthPage));
const HelpPage = lazy(() => import('./pages/help/help-page.tsx').then((part) => part.HelpPage));

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
