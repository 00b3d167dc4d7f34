/** One session of the list, on two lines: what it was, how it ended, what it cost. */
import type { Session } from '../../../../model/session.ts';
import { hrefOf } from '../../base.ts';
import { Cost, Duration, Tokens, When } from '../../parts/figure.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import { StatusMark } from '../../parts/status-mark.tsx';
import { now } from '../../store/clock.ts';
import { costReason, elapsedUs, marksOf, sizeText, statusOf, whoText } from './row-text.ts';
import { Sparkline } from './sparkline.tsx';
import './session-row.css';

type SessionRowProps = {
  session: Session;
  isFocused: boolean;
  isSelected: boolean;
  onFocus: () => void;
  onOpen: () => void;
  onSelect: () => void;
  onStar: () => void;
  onMenu: (action: 'rename' | 'delete' | 'copy' | 'export') => void;
};

const LONGEST_TITLE = 300;

export function SessionRow({ session, isFocused, isSelected, ...on }: SessionRowProps) {
  const { id, display_title, rollup } = session;
  const title = display_title.slice(0, LONGEST_TITLE);
  const tabIndex = isFocused ? 0 : -1;
  const shape = rollup.shape ?? [];
  const who = whoText(session);
  return (
    <div
      class={isSelected ? 'session-row selected' : 'session-row'}
      data-session={id}
      data-status={statusOf(session, now.value)}
      data-focused={isFocused ? '' : undefined}
      onFocusCapture={on.onFocus}
    >
      <input type="checkbox" tabIndex={tabIndex} checked={isSelected} onChange={on.onSelect} aria-label="Select" />
      <StatusMark status={statusOf(session, now.value)} short />
      <div class="session-what">
        <a class="session-title" href={hrefOf(`/sessions/${id}`)} tabIndex={tabIndex} onClick={on.onOpen}>
          <Recorded text={title} />
        </a>
        <span class="session-more">
          {rollup.model !== undefined && <Recorded text={rollup.model} />}
          {shape.length > 1 && <Sparkline values={shape} />}
          {shape.length > 0 && (
            <span class="session-context" title="tokens of the last prompt">
              <Tokens name="last_context" count={shape.at(-1) ?? 0} />
            </span>
          )}
          {marksOf(session).map(({ name, text }) => (
            <span class={`session-mark mark-${name}`} data-mark={name} key={name}>
              {text}
            </span>
          ))}
        </span>
      </div>
      <div class="session-who">
        <Recorded text={who} />
        <span class="session-size" data-number="turn_count" data-value={rollup.turn_count}>
          {sizeText(session)}
        </span>
      </div>
      <div class="session-when">
        <When name="last_seen_at" at={session.last_seen_at} />
        <Duration name="elapsed_us" us={elapsedUs(session)} />
      </div>
      <div class="session-cost">
        <Cost
          usd={rollup.usage.cost_usd}
          reason={costReason(session) ?? ''}
          atLeast={rollup.usage.unpriced_models.length > 0}
        />
        <Tokens name="total_tokens" count={rollup.usage.input_tokens + rollup.usage.output_tokens} />
      </div>
      <div class="session-actions">
        <button
          type="button"
          class="plain star"
          tabIndex={tabIndex}
          aria-pressed={session.starred}
          aria-label="Star"
          title="Star (s)"
          onClick={on.onStar}
        >
          <Icon name="star" />
        </button>
        <RowButton tabIndex={tabIndex} icon="edit" label="Rename" title="Rename (r)" run={() => on.onMenu('rename')} />
        <RowButton
          tabIndex={tabIndex}
          icon="link"
          label="Copy link"
          title="Copy link (c)"
          run={() => on.onMenu('copy')}
        />
        <RowButton tabIndex={tabIndex} icon="download" label="Export" title="Export" run={() => on.onMenu('export')} />
        <RowButton
          tabIndex={tabIndex}
          icon="delete"
          label="Delete"
          title="Delete (Del)"
          run={() => on.onMenu('delete')}
        />
      </div>
    </div>
  );
}

type RowButtonProps = {
  icon: Parameters<typeof Icon>[0]['name'];
  label: string;
  title: string;
  tabIndex: number;
  run: () => void;
};

const RowButton = ({ icon, label, title, tabIndex, run }: RowButtonProps) => (
  <button type="button" class="plain" tabIndex={tabIndex} aria-label={label} title={title} onClick={run}>
    <Icon name={icon} />
  </button>
);
