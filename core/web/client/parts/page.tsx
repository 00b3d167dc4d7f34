/** The frame that every page puts its contents in: the landmark, its state for readers from outside, and the title of the document. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Boundary } from './boundary.tsx';
import { documentTitleText } from './document-title.ts';
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

export function Page({ name, title, state, children }: PageProps) {
  useEffect(() => {
    document.title = documentTitleText(title);
  }, [title]);
  const main = useRef<HTMLElement>(null);
  const { wasPush } = useLocation() as { wasPush?: boolean }; // which its types leave out
  useEffect(() => {
    // what had the focus went with the page before
    if (wasPush && document.activeElement === document.body) main.current?.focus({ preventScroll: true });
  }, [name]);
  return (
    <main
      ref={main}
      id="main"
      class="page"
      tabIndex={-1}
      data-page={name}
      data-state={state}
      aria-busy={state === 'loading'}
    >
      <div class={state === 'loading' ? 'page-bar waiting' : 'page-bar'} aria-hidden="true" />
      <Boundary key={name}>{children}</Boundary>
    </main>
  );
}
