/** Short notices at the edge of the window. */
import { signal } from '@preact/signals';
import { Recorded } from './recorded.tsx';
import './toast.css';

const SHOWN_MS = 4_000;
const MOST = 3;

type Toast = { id: number; text: string };

const toasts = signal<readonly Toast[]>([]);
let count = 0;

export function showToast(text: string): void {
  count += 1;
  const toast = { id: count, text };
  toasts.value = [...toasts.value, toast].slice(-MOST);
  setTimeout(() => {
    toasts.value = toasts.value.filter(({ id }) => id !== toast.id);
  }, SHOWN_MS);
}

export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map(({ id, text }) => (
      <p class="toast" key={id}>
        <Recorded text={text} />
      </p>
    ))}
  </div>
);
