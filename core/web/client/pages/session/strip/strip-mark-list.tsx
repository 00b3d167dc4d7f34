/** The marks of the strip as buttons: one for each kind, which leads to its next, and a list of all. */
import { MARK_SIGNS, type MarkKind, type StripMark } from './strip-marks.ts';

type StripMarksProps = { marks: readonly StripMark[]; selected: number; onSelect: (span: number) => void };

const PLURALS: Readonly<Record<MarkKind, readonly [one: string, many: string]>> = {
  error: ['error', 'errors'],
  blocked: ['blocked', 'blocked'],
  cut: ['cut off', 'cut off'],
  compaction: ['compaction', 'compactions'],
};
const LISTED = 200;

export function StripMarks({ marks, selected, onSelect }: StripMarksProps) {
  if (marks.length === 0) return null;
  const kinds = (Object.keys(PLURALS) as MarkKind[]).filter((kind) => marks.some((mark) => mark.kind === kind));
  const next = (kind: MarkKind) => {
    const own = marks.filter((mark) => mark.kind === kind);
    const at = own.findIndex(({ span }) => span === selected);
    onSelect(own[(at + 1) % own.length]?.span ?? -1);
  };
  return (
    <div class="strip-marks">
      {kinds.map((kind) => {
        const count = marks.filter((mark) => mark.kind === kind).length;
        const word = PLURALS[kind][count === 1 ? 0 : 1];
        return (
          <button
            key={kind}
            type="button"
            class={`strip-mark mark-${kind}`}
            title="To the next"
            onClick={() => next(kind)}
          >
            <span aria-hidden="true">{MARK_SIGNS[kind]}</span> {count} {word}
          </button>
        );
      })}
      <details>
        <summary>All marks</summary>
        <ul>
          {marks.slice(0, LISTED).map(({ kind, span, words }) => (
            <li key={`${kind} ${span}`}>
              <button type="button" class={`plain mark-${kind}`} data-mark={kind} onClick={() => onSelect(span)}>
                <span aria-hidden="true">{MARK_SIGNS[kind]}</span> {words}
              </button>
            </li>
          ))}
          {marks.length > LISTED && <li>{marks.length - LISTED} more</li>}
        </ul>
      </details>
    </div>
  );
}
