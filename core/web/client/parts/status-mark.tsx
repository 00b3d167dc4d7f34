/** How something ended: an icon and a word, never a colour alone. */
import { Icon, type IconName } from './icon.tsx';
import './status-mark.css';

type Tone = 'ok' | 'warn' | 'error' | 'muted' | 'accent';

const LOOKS: Readonly<Record<string, [IconName, Tone]>> = {
  ok: ['ok', 'ok'],
  completed: ['ok', 'ok'],
  admitted: ['ok', 'ok'],
  live: ['sessions', 'accent'],
  error: ['error', 'error'],
  failed: ['error', 'error'],
  refused: ['error', 'error'],
  blocked: ['error', 'error'],
  partial: ['interrupted', 'warn'],
  interrupted: ['interrupted', 'warn'],
  abandoned: ['interrupted', 'warn'],
  warn: ['warn', 'warn'],
};

/** @param word shown instead of the status itself */
export function StatusMark({
  status,
  word = status,
  short = false,
}: {
  status: string;
  word?: string;
  short?: boolean;
}) {
  const [icon, tone] = (Object.hasOwn(LOOKS, status) && LOOKS[status]) || (['unknown', 'muted'] as const);
  return (
    <span class={`status-mark tone-${tone}`} data-status={status} title={short ? word : undefined}>
      {short ? (
        <Icon name={icon} label={word} />
      ) : (
        <>
          <Icon name={icon} /> {word}
        </>
      )}
    </span>
  );
}
