/** The page of an address that names nothing. */
import { hrefOf } from '../base.ts';
import { Page } from '../parts/page.tsx';

export const NotFoundPage = () => (
  <Page name="not-found" title="No such page" state="error">
    <h1>There is no page at this address</h1>
    <p>
      <a href={hrefOf('/sessions')}>Go to the sessions</a>
    </p>
  </Page>
);
