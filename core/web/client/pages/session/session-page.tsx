/** The page of one session: its head, and one of the lenses through which it is looked at. */
import { useAddress } from '../../address.ts';
import { ProblemError } from '../../api/problem-error.ts';
import { useKeys } from '../../keys.ts';
import { Boundary } from '../../parts/boundary.tsx';
import { Page, type PageState } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { listPath, returnFrom } from '../sessions/place.ts';
import { SessionFinder } from './find/session-finder.tsx';
import { lensAddress } from './lens-address.ts';
import { LensTabs } from './lens-tabs.tsx';
import { LENSES, lensNamed } from './lenses.ts';
import { SessionHead } from './session-head.tsx';
import { type FirstPlace, SessionContext, type SessionStore } from './session-store.ts';
import { SessionStrip } from './strip/session-strip.tsx';
import { useSessionStore } from './use-session-store.ts';
import './session-page.css';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const ADDRESS = /^\/sessions\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/([a-z]+))?(?:\/|$)/i;

export function SessionPage() {
  const { path } = useAddress();
  const [, id, lens] = ADDRESS.exec(path) ?? [];
  if (id === undefined)
    return (
      <Page name="session" title="No session" state="error">
        <h1>No such session</h1>
        <p>The address names no session: its id is not complete.</p>
      </Page>
    );
  return <OneSession key={id} id={id.toLowerCase()} lens={lens ?? 'talk'} />;
}

function OneSession({ id, lens }: { id: string; lens: string }) {
  const { go, query } = useAddress();
  const store = useSessionStore(id, lens === 'talk' ? firstPlace(query) : null);
  const session = store.session.value;
  useKeys(
    {
      u: {
        does: 'back to the sessions',
        run: () => {
          returnFrom(id);
          go(listPath());
        },
      },
      ...Object.fromEntries(
        LENSES.map(({ name, word }, n) => [
          `${n + 1}`,
          { does: `look at ${word}`, run: () => go(lensAddress(id, name, query)) },
        ]),
      ),
    },
    { scope: 'Session' },
  );
  return (
    <SessionContext.Provider value={store}>
      <Page name="session" title={session?.display_title ?? 'Session'} state={stateOf(store)}>
        <SessionHead />
        <Gone store={store} />
        <SessionStrip />
        <LensTabs id={id} lens={lens} />
        <SessionFinder lens={lens} />
        <Lens name={lens} />
      </Page>
    </SessionContext.Provider>
  );
}

/** As the document decides what it loads ahead (core/web/web-app.ts). */
function firstPlace(query: URLSearchParams): FirstPlace | null {
  const span = query.get('span');
  return query.size === 0 || UUID.test(span ?? '') ? { span } : null;
}

function Lens({ name }: { name: string }) {
  const lens = lensNamed(name);
  return (
    <div class="lens" role="tabpanel" id="lens" aria-labelledby={`tab-${lens.name}`} data-lens={lens.name}>
      <Boundary key={lens.name}>
        <lens.component />
      </Boundary>
    </div>
  );
}

/** What went wrong, above what is still shown. */
function Gone({ store }: { store: SessionStore }) {
  const { session, outline, texts, deleted } = store;
  const failure = store.failure.value ?? outline.failure.value ?? texts.failure.value;
  if (deleted.value || isUnknown(failure))
    return (
      <p class="session-gone" role="status">
        {session.value === null
          ? 'There is no session with this id: it was deleted, or it was never recorded here.'
          : 'This session was deleted. What was read of it stays on this page until you leave it.'}
      </p>
    );
  return failure === null ? null : <Problem error={failure} onRetry={store.refresh} />;
}

const isUnknown = (failure: unknown): boolean => failure instanceof ProblemError && failure.code === 'session-unknown';

function stateOf({ session, outline, failure }: SessionStore): PageState {
  const columns = outline.columns.value;
  if (columns) return columns.spans.count === 0 ? 'empty' : 'ready';
  return (failure.value ?? outline.failure.value) !== null && session.value === null ? 'error' : 'loading';
}
