/** The frame that every page puts its contents in: the landmark, its state for readers from outside, and the title of the document. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { visibleText } from '../worker/invisible.ts';
import { Boundary } from './boundary.tsx';
import './page.css';

export type PageState = 'loading' | 'ready' | 'empty' | 'error';

type PageProps = {
  /** Its name for tests and styles, as `sessions`. */
  name: string;
  /** For the window; may be recorded text. */
  title: string;
  state: PageState;
  children?: ComponentChildren;
};

const LONGEST_TITLE = 200;

export function Page({ name, title, state, children }: PageProps) {
  useEffect(() => {
    document.title = documentTitle(title);
  }, [title]);
  return (
    <main id="main" class="page" tabIndex={-1} data-page={name} data-state={state} aria-busy={state === 'loading'}>
      <div class={state === 'loading' ? 'page-bar waiting' : 'page-bar'} aria-hidden="true" />
      <Boundary key={name}>{children}</Boundary>
    </main>
  );
}

/** On one line, with nothing hidden in it, and not too long. */
export function documentTitle(title: string): string {
  const line = visibleText(title.slice(0, 2_000).replace(/\s+/g, ' ').trim());
  const short = line.length > LONGEST_TITLE ? `${line.slice(0, LONGEST_TITLE)}…` : line;
  return short === '' || short === 'svc' ? 'svc' : `${short} · svc`;
}
