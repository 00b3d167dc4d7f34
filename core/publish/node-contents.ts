/** The content of nodes, read from what is stored of them: queued nodes so take little memory, however large their messages are. */
import { messageOf } from '../call/message-slice.ts';
import { readAnswer } from '../call/read-answer.ts';
import type { Reader } from '../call/reader.ts';
import { headersFrom } from '../capture/header-template.ts';
import { unpackSlice } from '../capture/slice-codec.ts';
import type { Database } from '../db/database.ts';
import type { NodeSources } from '../db/read/node-sources.ts';
import type { NewNode } from '../db/store/new-nodes.ts';
import type { ContentBlock } from '../model/content-block.ts';
import { Unreadable } from '../provider/format.ts';
import { FormatId } from '../provider/formats.ts';
import { MAX_EVENT_BYTES, type NodeContent, type Omitted } from './node-event.ts';

/** A streamed response is some times as large as its content. */
const MAX_SOURCE_BYTES = 4 * MAX_EVENT_BYTES;

/** In the order of `nodes`; null: the turn of the node has been purged meanwhile, so nothing of it is to be published. */
export async function nodeContents(
  database: Pick<Database, 'execute'>,
  reader: Reader,
  nodes: readonly NewNode[],
): Promise<(NodeContent | null)[]> {
  const sources = await database.execute('nodeSources', {
    slice_ids: [...new Set(nodes.flatMap(({ slice_id }) => slice_id ?? []))],
    raw_turn_ids: [...new Set(nodes.map(({ raw_turn_id }) => raw_turn_id))],
    max_bytes: MAX_SOURCE_BYTES,
  });
  return nodes.map((node) => (sources.responses[node.raw_turn_id] ? contentOf(node, sources, reader) : null));
}

const omitted = (content_omitted: Omitted['content_omitted']): Omitted => ({ content: null, content_omitted });

function contentOf(node: NewNode, sources: NodeSources, reader: Reader): NodeContent {
  const id = FormatId.safeParse(node.format).data;
  if (!id) return omitted('unavailable');
  try {
    const content = node.slice_id === null ? answerOf(node, sources, reader, id) : messageIn(node, sources, reader, id);
    return Array.isArray(content) ? { content, content_omitted: null } : omitted(content);
  } catch (error) {
    if (error instanceof Unreadable) return omitted('unavailable');
    throw error;
  }
}

type Content = ContentBlock[] | Omitted['content_omitted'];

function messageIn({ slice_id }: NewNode, { slices }: NodeSources, reader: Reader, id: FormatId): Content {
  const packed = slices[slice_id ?? ''];
  return packed ? messageOf(reader.formatById(id), unpackSlice(packed)).content : 'too-large';
}

function answerOf({ raw_turn_id }: NewNode, { responses, slices }: NodeSources, reader: Reader, id: FormatId): Content {
  const source = responses[raw_turn_id];
  const { response_slice, response_header_template, response_header_values } = source ?? {};
  const packed = slices[response_slice ?? ''];
  const template = slices[response_header_template ?? ''];
  if (!response_slice || !template) return 'unavailable';
  if (!packed) return 'too-large';
  const answer = {
    bytes: unpackSlice(packed),
    slice_id: response_slice,
    headers: headersFrom(unpackSlice(template), response_header_values ?? []),
  };
  return readAnswer(reader.formatById(id), answer, reader.answers).reply?.content ?? 'unavailable';
}
