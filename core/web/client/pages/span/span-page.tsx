/** The page that a link to one span opens. */
import { Page } from '../../parts/page.tsx';

export const SpanPage = () => (
  <Page name="span" title="Span" state="empty">
    <h1>Span</h1>
    <p>The span is at /v1/traces of the read API.</p>
  </Page>
);
