/** The facts of a span: tokens, cost, times, and the ids by which it is found elsewhere. */
import type { ComponentChildren } from 'preact';
import type { Span } from '../../../../../model/span.ts';
import { hrefOf } from '../../../base.ts';
import { CopyButton } from '../../../parts/copy-button.tsx';
import { Cost, Duration, Tokens } from '../../../parts/figure.tsx';
import { momentText } from '../../../parts/number-text.ts';
import { Recorded } from '../../../parts/recorded.tsx';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';
import { callPath } from '../call/call-path.ts';

type SpanFactsProps = {
  columns: OutlineColumns;
  index: OutlineIndex;
  span: number;
  whole: Span | null;
  sessionId: string;
};

const known = (value: number | undefined): number | null => (value === undefined || Number.isNaN(value) ? null : value);

export function SpanFacts({ columns, index, span, whole, sessionId }: SpanFactsProps) {
  const { spans, names, base_us } = columns;
  const started = spans.started_us[span] ?? 0;
  const firstByte = known(spans.first_byte_us[span]);
  const duration = known(spans.duration_us[span]);
  const raw = known(spans.raw_turn_id[span]);
  const call = index.callOf[span] ?? -1;
  const isCall = call >= 0;
  const name = (column: Int32Array) => names[column[span] ?? 0] ?? '';
  return (
    <dl class="span-facts">
      <Fact term="started">{momentText((base_us + started) / 1000)}</Fact>
      <Fact term="took">
        <Duration us={duration} />
        {firstByte !== null && (
          <>
            , <Duration us={firstByte - started} name="wait_us" /> to the first byte
          </>
        )}
      </Fact>
      {isCall && <Usage columns={columns} span={span} whole={whole} />}
      {isCall && (
        <Fact term="cost">
          <Cost usd={known(spans.cost_usd[span])} />
          {whole?.price && (
            <span class="muted">
              {' '}
              by {whole.price.model}, {whole.price.source} of {whole.price.date}
            </span>
          )}
        </Fact>
      )}
      {isCall && name(spans.model) !== '' && <Text term="model" text={name(spans.model)} />}
      {isCall && name(spans.stop_reason) !== '' && <Text term="stopped by" text={name(spans.stop_reason)} />}
      {name(spans.call_kind) !== '' && <Text term="kind" text={name(spans.call_kind)} />}
      {name(spans.error_type) !== '' && <Text term="error" text={name(spans.error_type)} />}
      {name(spans.verdict) !== '' && <Text term="verdict" text={name(spans.verdict)} />}
      {isCall && raw !== null && (
        <Fact term="context">
          <a href={hrefOf(callPath(sessionId, raw, 'context'))} title="What the model saw (w)" aria-keyshortcuts="w">
            what call {call + 1} saw
          </a>
        </Fact>
      )}
      {isCall && raw !== null && (
        <Fact term="bytes">
          <a href={hrefOf(callPath(sessionId, raw, 'bytes'))}>
            call {call + 1}, raw turn {raw}
          </a>
        </Fact>
      )}
      <Id term="span" id={spans.span_id[span] ?? ''} />
      {whole?.external_id && <Id term={isCall ? 'response' : 'tool call'} id={whole.external_id} />}
      {whole?.node_hash && <Id term="node" id={whole.node_hash} />}
    </dl>
  );
}

function Usage({ columns: { spans }, span, whole }: { columns: OutlineColumns; span: number; whole: Span | null }) {
  const input = spans.input_tokens[span] || 0;
  const read = spans.cache_read_tokens[span] || 0;
  const written = spans.cache_write_tokens[span] || 0;
  const reasoning = whole?.usage.reasoning_tokens ?? 0;
  return (
    <>
      <Fact term="in">
        <Tokens count={input} name="input_tokens" />
        <span class="muted">
          {' '}
          · <Tokens count={read} name="cache_read_tokens" /> read, <Tokens count={written} name="cache_write_tokens" />{' '}
          written, <Tokens count={Math.max(0, input - read - written)} name="fresh_tokens" /> fresh
        </span>
      </Fact>
      <Fact term="out">
        <Tokens count={spans.output_tokens[span] || 0} name="output_tokens" />
        {reasoning > 0 && (
          <span class="muted">
            {' '}
            · <Tokens count={reasoning} name="reasoning_tokens" /> of reasoning
          </span>
        )}
      </Fact>
    </>
  );
}

const Fact = ({ term, children }: { term: string; children: ComponentChildren }) => (
  <div>
    <dt>{term}</dt>
    <dd>{children}</dd>
  </div>
);

const Text = ({ term, text }: { term: string; text: string }) => (
  <Fact term={term}>
    <Recorded text={text} />
  </Fact>
);

const Id = ({ term, id }: { term: string; id: string }) => (
  <Fact term={term}>
    <code class="span-id">
      <Recorded text={id} />
    </code>
    <CopyButton text={id} label={`Copy the id of the ${term}`} />
  </Fact>
);
