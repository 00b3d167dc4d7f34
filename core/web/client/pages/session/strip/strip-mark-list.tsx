/** The marks of the strip as buttons: one for each kind, which leads to its next (of breaks: in the Cache lens), and a list of all. */
import { MARK_SIGNS, type MarkKind, type StripMark } from './strip-marks.ts';

type StripMarksProps = {
  marks: readonly StripMark[];
  cacheHref: (span: number) => string; // where the break of a call leads
  isComing: boolean; // some may follow, which then have a place
  selected: number;
  onSelect: (span: number) => void;
};

const PLURALS: Readonly<Record<MarkKind, readonly [one: string, many: string]>> = {
  error: ['error', 'errors'],
  blocked: ['blocked', 'blocked'],
  cut: ['cut off', 'cut off'],
  compaction: ['compaction', 'compactions'],
  break: ['cache break', 'cache breaks'],
};
const LISTED = 200;

export function StripMarks({ marks, cacheHref, isComing, selected, onSelect }: StripMarksProps) {
  if (marks.length === 0) return isComing ? <div class="strip-marks" /> : null;
  const kinds = (Object.keys(PLURALS) as MarkKind[]).filter((kind) => marks.some((mark) => mark.kind === kind));
  const nextOf = (kind: MarkKind): number => {
    const own = marks.filter((mark) => mark.kind === kind);
    const at = own.findIndex(({ span }) => span === selected);
    return own[(at + 1) % own.length]?.span ?? -1;
  };
  return (
    <div class="strip-marks">
      {kinds.map((kind) => {
        const count = marks.filter((mark) => mark.kind === kind).length;
        const word = PLURALS[kind][count === 1 ? 0 : 1];
        const words = (
          <>
            <span aria-hidden="true">{MARK_SIGNS[kind]}</span> {count} {word}
          </>
        );
        return kind === 'break' ? (
          <a key={kind} class="mark-break" href={cacheHref(nextOf(kind))}>
            {words}
          </a>
        ) : (
          <button
            key={kind}
            type="button"
            class={`strip-mark mark-${kind}`}
            title="To the next"
            onClick={() => onSelect(nextOf(kind))}
          >
            {words}
          </button>
        );
      })}
      <details>
        <summary>All marks</summary>
        <ul>
          {marks.slice(0, LISTED).map(({ kind, span, words }) => (
            <li key={`${kind} ${span}`}>
              {kind === 'break' ? (
                <a class="mark-break" data-mark={kind} href={cacheHref(span)}>
                  <span aria-hidden="true">{MARK_SIGNS[kind]}</span> {words}
                </a>
              ) : (
                <button type="button" class={`plain mark-${kind}`} data-mark={kind} onClick={() => onSelect(span)}>
                  <span aria-hidden="true">{MARK_SIGNS[kind]}</span> {words}
                </button>
              )}
            </li>
          ))}
          {marks.length > LISTED && <li>{marks.length - LISTED} more</li>}
        </ul>
      </details>
    </div>
  );
}
