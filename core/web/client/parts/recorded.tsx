/** Recorded text within a line: hostile, so its direction is its own and what it hides is written out. */
import { visibleParts } from '../worker/invisible.ts';
import './recorded.css';

export const Recorded = ({ text }: { text: string }) => (
  <bdi class="recorded">
    <Visible text={text} />
  </bdi>
);

/** The same without an element of its own, where the parent isolates it. */
export const Visible = ({ text }: { text: string }) => (
  <>
    {visibleParts(text).map(({ text: run, hidden }) =>
      hidden ? (
        <span class="hidden-character" data-hidden title={hidden.means}>
          {run}
        </span>
      ) : (
        run
      ),
    )}
  </>
);
