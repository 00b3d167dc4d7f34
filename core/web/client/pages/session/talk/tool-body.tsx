/** The input of a tool call and what it returned. */
import type { ContentBlock } from '../../../../../model/content-block.ts';
import { Formatted } from '../../../parts/formatted.tsx';
import { Recorded } from '../../../parts/recorded.tsx';
import { blockKey } from './block-key.ts';
import { BlockView } from './block-view.tsx';
import { type ShownBlock, shownBlocks } from './blocks.ts';
import { FoldedText } from './folded-text.tsx';
import { toolIsCut } from './needs-whole.ts';
import { RecordedValue } from './recorded-value.tsx';
import { Plain } from './result-text.tsx';
import { FIRST } from './row-height.ts';
import type { StepFacts } from './step-facts.ts';
import { TextBlock, useIsPlain } from './text-block.tsx';
import { type InputPart, inputParts } from './tool-input.ts';
import { useText } from './use-text.ts';

export function ToolBody({ facts }: { facts: StepFacts }) {
  const text = useText(facts, toolIsCut);
  if (!text) return <p class="tool-body muted">On its way …</p>;
  const { span, whole } = text;
  const [use] = span.input;
  const results = span.output.flatMap(shownBlocks);
  const name = use?.tool_name !== undefined && use.tool_name !== facts.name ? use.tool_name : '';
  return (
    <div class="tool-body">
      <div class="tool-input" data-side="input">
        {name !== '' && (
          <p class="muted">
            tool <Recorded text={name} />
          </p>
        )}
        <TextBlock of={blockKey(facts.span_id, 'input', 0)}>
          <ToolInput span_id={facts.span_id} use={use} />
        </TextBlock>
      </div>
      <div class="tool-result" data-side="output">
        {results.length === 0 && (
          <p class="muted">{facts.duration_us === null ? 'No result was seen' : 'It returned nothing'}</p>
        )}
        {results.map((block: ShownBlock, n) => (
          <BlockView
            key={n}
            id={`${facts.span_id} output ${n}`}
            of={{ span_id: facts.span_id, side: 'output' }}
            block={block}
            whole={whole}
            as="result"
          />
        ))}
      </div>
    </div>
  );
}

/** By its keys; its texts alone where what was found in it cannot be seen otherwise. */
function ToolInput({ span_id, use }: { span_id: string; use: ContentBlock | undefined }) {
  const isPlain = useIsPlain();
  const input = use?.tool_input;
  if (isPlain) return <RecordedValue value={input ?? use?.content} />;
  return (
    <>
      {inputParts(input).map((part, n) => (
        <InputView key={n} id={`${span_id} input ${n}`} part={part} />
      ))}
      {input === undefined && use?.content !== undefined && <RecordedValue value={use.content} />}
    </>
  );
}

function InputView({ id, part }: { id: string; part: InputPart }) {
  if (part.kind === 'edit')
    return (
      <div class="input-part" data-part="edit">
        <Formatted kind="diff" before={part.before} text={part.after} />
      </div>
    );
  return (
    <div class="input-part">
      {part.key !== '' && (
        <span class="input-key">
          <Recorded text={part.key} />
        </span>
      )}
      <div class="input-value">
        {part.kind === 'json' ? (
          <RecordedValue value={part.value} />
        ) : (
          <FoldedText id={id} text={part.text} first={FIRST.result}>
            {(shown) => {
              if (part.kind === 'text') return <Plain text={shown} />;
              if (part.kind === 'diff') return <Formatted kind="diff" text={shown} />;
              return <Formatted kind="code" language={part.language} text={shown} />;
            }}
          </FoldedText>
        )}
      </div>
    </div>
  );
}
