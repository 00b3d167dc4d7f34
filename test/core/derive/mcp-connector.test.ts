/** The tools of MCP servers that Anthropic calls itself: what does the projection have of them? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ProjectionChanges, SpanRow } from '../../../core/derive/changes.ts';
import { fold } from '../../../core/derive/fold.ts';
import { noChanges, summed } from '../../../core/derive/merge-changes.ts';
import { emptyState } from '../../../core/derive/state.ts';
import { anthropic } from '../../../core/provider/anthropic.ts';
import { answer, type Call, callTurns, instantAt, SESSION, user } from '../../support/call-turn.ts';

const test = suite('MCP connector');

function projection(...calls: Call[]): ProjectionChanges {
  const sum = noChanges();
  fold(emptyState(SESSION), callTurns(calls), { sum, checkpoints: [] });
  const changes = summed(sum);
  if (!changes) throw new Error('Cannot project: no calls');
  return changes;
}

function span({ spans }: ProjectionChanges, kind: SpanRow['kind']): SpanRow {
  const found = spans.find((row) => row.kind === kind);
  if (!found) throw new Error(`Cannot find a span of kind ${kind}`);
  return found;
}

test('a tool of an MCP server that Anthropic called has its step, while the answer keeps its blocks as they are hashed', () => {
  const [format] = anthropic.formats;
  const used = { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'roll', server_name: 'dice', input: { sides: 6 } };
  const got = {
    type: 'mcp_tool_result',
    tool_use_id: 'mcptoolu_1',
    is_error: false,
    content: [{ type: 'text', text: '4' }],
  };
  const rowsOf = (...blocks: object[]) => {
    const { content } = format.message({ role: 'assistant', content: blocks });
    return { content, rows: projection({ at: 0, says: [user('Roll')], answers: answer(...content) }) };
  };
  const { content, rows } = rowsOf(used, got, { type: 'text', text: 'Four' });
  assert.equal(content[0], { type: 'mcp_tool_use', content: used });
  const tool = span(rows, 'tool');
  assert.equal(
    [tool.name, tool.external_id, tool.status, tool.ended_at],
    ['mcp__dice__roll', 'mcptoolu_1', 'ok', instantAt(0.5)],
  );
  assert.equal([tool.input[0]?.tool_input, tool.output], [{ sides: 6 }, [content[1]]]);
  assert.equal(span(rows, 'llm').output, content);
  const failed = rowsOf({ ...used, server_name: undefined }, { ...got, is_error: true, content: 'no dice' }).rows;
  assert.equal([span(failed, 'tool').name, span(failed, 'tool').status], ['roll', 'error']);
  assert.is(rowsOf(used).rows.spans.find(({ kind }) => kind === 'tool')?.ended_at, null);
});

test.run();
