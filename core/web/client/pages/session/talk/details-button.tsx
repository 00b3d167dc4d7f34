/** The button that shows all that is known of a step beside the conversation. */
import { useTalk } from './talk-context.ts';

export function DetailsButton({ span }: { span: number }) {
  const { openPanel } = useTalk();
  return (
    <button
      type="button"
      class="fold details"
      aria-keyshortcuts="i"
      title="Details (i)"
      onClick={() => openPanel(span)}
    >
      details
    </button>
  );
}
