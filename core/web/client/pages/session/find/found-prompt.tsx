/** What was found in a system prompt or the definition of a tool, which Talk does not show: its block, as the call sent it. */
import { useEffect, useRef } from 'preact/hooks';
import type { SessionMatch } from '../../../../../model/find.ts';
import { readBlock } from '../../../api/context.ts';
import { hrefOf } from '../../../base.ts';
import { Problem } from '../../../parts/problem.tsx';
import { Recorded, Visible } from '../../../parts/recorded.tsx';
import { useReading } from '../../use-reading.ts';
import { useSession } from '../session-store.ts';
import './found-prompt.css';

type Block = { path: string; text: string };

const NEAR = 10_000; // characters before it and after it

export function FoundPrompt({ found }: { found: SessionMatch }) {
  const { id } = useSession();
  const { raw_turn_id, block, start, match } = found;
  const key = `${raw_turn_id} ${block}`;
  const mark = useRef<HTMLElement>(null);
  const reading = useReading<Block>(key, async (signal) => {
    const { path, text, json } = await readBlock(raw_turn_id ?? 0, block, signal);
    return { path, text: text ?? JSON.stringify(json, null, 2) };
  });
  const answer = reading.key === key ? reading.answer : null;
  const at = answer ? (answer.text.startsWith(match, start) ? start : answer.text.indexOf(match)) : -1;
  useEffect(() => {
    if (answer === null) return;
    mark.current?.scrollIntoView({ block: 'center' });
    performance.mark('svc:find-shown');
  }, [answer, at]);
  const whole = at < 0 ? `${found.before}${match}${found.after}` : (answer?.text ?? '');
  const place = at < 0 ? found.before.length : at;
  const end = place + match.length;
  return (
    <section class="found-prompt" aria-label="System prompt" data-text={`${found.span_id} prompt ${block}`}>
      <p class="muted">
        system prompt of <a href={hrefOf(`/sessions/${id}/calls/${raw_turn_id}`)}>call {raw_turn_id}</a>{' '}
        {answer && <Recorded text={answer.path} />}
      </p>
      {reading.error !== null && <Problem error={reading.error} onRetry={reading.retry} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, which keys have to reach */}
      <pre class="found-prompt-text" dir="auto" tabIndex={0}>
        <Visible text={whole.slice(Math.max(0, place - NEAR), place)} />
        <mark ref={mark}>
          <Visible text={match} />
        </mark>
        <Visible text={whole.slice(end, end + NEAR)} />
      </pre>
    </section>
  );
}
