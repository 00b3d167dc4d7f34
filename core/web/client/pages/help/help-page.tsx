/** The page that explains how to use svc. */
import { Page } from '../../parts/page.tsx';

export const HelpPage = () => (
  <Page name="help" title="Help" state="empty">
    <h1>Help</h1>
    <p>All routes are at /swagger of the read API.</p>
  </Page>
);
