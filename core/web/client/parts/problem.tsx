/** A failure in words: its sentence, its code, the id under which the log has more, and another attempt. */
import { ProblemError } from '../api/problem-error.ts';
import { CopyButton } from './copy-button.tsx';
import { Icon } from './icon.tsx';
import { Recorded } from './recorded.tsx';
import './problem.css';

export function Problem({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { sentence, code, requestId } = wordsOf(error);
  const copied = [sentence, code, requestId && `request ${requestId}`].filter(Boolean).join('\n');
  return (
    <div class="problem" role="alert" data-code={code}>
      <Icon name="error" />
      <div>
        <p>
          <Recorded text={sentence} />
        </p>
        <p class="problem-more">
          <code>{code}</code>
          {requestId && <code>{requestId}</code>}
        </p>
        <p class="problem-actions">
          {onRetry && (
            <button type="button" onClick={onRetry}>
              Try again
            </button>
          )}
          <CopyButton text={copied} label="Copy the problem" />
        </p>
      </div>
    </div>
  );
}

function wordsOf(error: unknown): { sentence: string; code: string; requestId: string } {
  if (error instanceof ProblemError) return { sentence: error.message, code: error.code, requestId: error.requestId };
  const thrown = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { sentence: `This part of the page failed: ${thrown.slice(0, 1_000)}`, code: 'page-failed', requestId: '' };
}
