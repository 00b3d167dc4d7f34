/** Code, JSON or the output of a terminal, with the looks of its runs. */
import type { TextRun } from '../worker/tokens.ts';
import { Visible } from './recorded.tsx';

export const RunsView = ({ runs }: { runs: readonly TextRun[] }) => (
  <pre class="runs" dir="ltr">
    <Runs runs={runs} />
  </pre>
);

export const Runs = ({ runs }: { runs: readonly TextRun[] }) => (
  <>
    {runs.map(({ text, looks }) =>
      looks.length === 0 ? (
        <Visible text={text} />
      ) : (
        <span class={looks.map((look) => `look-${look}`).join(' ')}>
          <Visible text={text} />
        </span>
      ),
    )}
  </>
);
