/** An error boundary: what throws inside is shown as a problem, and the rest of the page goes on. */
import type { ComponentChildren } from 'preact';
import { useErrorBoundary } from 'preact/hooks';
import { Problem } from './problem.tsx';

export function Boundary({ children }: { children?: ComponentChildren }) {
  const [error, reset] = useErrorBoundary();
  return error === undefined ? children : <Problem error={error} onRetry={reset} />;
}
