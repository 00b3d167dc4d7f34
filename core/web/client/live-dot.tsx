/** Whether the page follows the service: a mark and a word. */
import { eventCount, liveState } from './store/live.ts';

const WORDS = {
  live: ['●', 'live', 'What happens shows here by itself'],
  connecting: ['◌', 'connecting', 'The service is not reached; it is tried again'],
  paused: ['○', 'paused', 'This tab is hidden, so it follows nothing'],
} as const;

export function LiveDot() {
  const [mark, word, means] = WORDS[liveState.value];
  return (
    <span class="live-dot" role="status" data-live={liveState.value} data-events={eventCount.value} title={means}>
      <span aria-hidden="true">{mark}</span> <span class="live-word">{word}</span>
    </span>
  );
}
