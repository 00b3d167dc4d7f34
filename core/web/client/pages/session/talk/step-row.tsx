/** A call of the model: which model, how long, what it cost, the tries before it, and its answer. */
import type { Span } from '../../../../../model/span.ts';
import { Cost, Duration, Tokens } from '../../../parts/figure.tsx';
import { Recorded } from '../../../parts/recorded.tsx';
import { StatusMark } from '../../../parts/status-mark.tsx';
import { BlockView } from './block-view.tsx';
import { answerBlocks } from './blocks.ts';
import { besideWords, cutWords } from './call-words.ts';
import { DetailsButton } from './details-button.tsx';
import { WaysOn } from './fork-row.tsx';
import { answerBlockId, answerIsCut } from './needs-whole.ts';
import { type StepFacts, stepFacts, tokensOf } from './step-facts.ts';
import { useTalk } from './talk-context.ts';
import { ErrorText } from './text-block.tsx';
import { Tries } from './tries.tsx';
import { useText } from './use-text.ts';

export function StepRow({ span }: { span: number }) {
  const { columns, folds } = useTalk();
  const facts = stepFacts(columns, span);
  const text = useText(facts, (loaded) => answerIsCut(loaded, folds));
  const { span: loaded, whole = false } = text ?? {};
  return (
    <div class={`talk-message ${facts.isHistory ? 'history' : ''}`}>
      <CallLine facts={facts} span={span} />
      <Tries span={span} />
      <div class="talk-words">
        {loaded === undefined && <p class="waiting-words">{facts.label}</p>}
        {loaded &&
          answerBlocks(loaded.output).map((block, n) => (
            <BlockView
              key={n}
              id={answerBlockId(facts.span_id, n)}
              of={{ span_id: facts.span_id, side: 'output' }}
              block={block}
              whole={whole}
              as="prose"
            />
          ))}
        {loaded && <Ending span={loaded} facts={facts} />}
      </div>
      <WaysOn span={span} />
    </div>
  );
}

function CallLine({ facts, span }: { facts: StepFacts; span: number }) {
  const { columns } = useTalk();
  const { spans } = columns;
  const read = spans.cache_read_tokens[span] ?? 0;
  return (
    <p class="talk-who who-model">
      <span>{besideWords(facts.call_kind) ?? 'model'}</span>
      <span class="call-facts">
        <Recorded text={facts.model} />
        {facts.waited_us !== null && (
          <span>
            <Duration us={facts.waited_us} name="first_byte_us" /> to first byte
          </span>
        )}
        <Duration us={facts.duration_us} />
        <span>
          <Tokens count={spans.input_tokens[span] ?? 0} name="input_tokens" /> in
          {read > 0 && (
            <>
              {' '}
              (<Tokens count={read} name="cache_read_tokens" /> read)
            </>
          )}
        </span>
        <span>
          <Tokens count={spans.output_tokens[span] ?? 0} name="output_tokens" /> out
        </span>
        <Cost usd={facts.cost_usd} reason={noCost(facts, tokensOf(columns, span))} />
        {facts.isHistory && <span>history</span>}
      </span>
      <DetailsButton span={span} />
    </p>
  );
}

const noCost = ({ isHistory, status }: StepFacts, tokens: number): string => {
  if (isHistory) return 'it counts in the session it comes from';
  if (tokens > 0) return 'no known price';
  return status === 'error' ? 'the call was not answered' : 'its answer states no usage';
};

/** How the answer ended, where it did not end by itself; the provider's own sentence, as it came. */
function Ending({ span, facts }: { span: Span; facts: StepFacts }) {
  const cut = cutWords(facts);
  return (
    <>
      {facts.status === 'error' && (
        <p class="talk-ending" data-ending="error">
          <StatusMark status="error" word={facts.error_type || 'error'} />
          {span.error_message !== undefined && <ErrorText span_id={facts.span_id} text={span.error_message} />}
        </p>
      )}
      {cut !== null && (
        <p class="talk-ending" data-ending="cut">
          <StatusMark status="partial" word="cut off" />
          <span>
            {cut}; <Tokens count={span.usage.output_tokens} name="output_tokens" /> tokens seen
          </span>
        </p>
      )}
      {span.tool_calls_omitted !== undefined && (
        <p class="muted">{span.tool_calls_omitted} more tool calls have no step of their own</p>
      )}
      {span.events_omitted !== undefined && (
        <p class="muted">{span.events_omitted} more messages were put in with this call</p>
      )}
    </>
  );
}
