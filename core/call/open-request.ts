/** Opens a request: its decoded body, cut into pieces, and its head; parsed once, whoever reads on from there. */
import { decodeBodySync, Undecodable } from '../capture/content-encoding.ts';
import { cutAfter, type KnownCut } from '../capture/shared-slices.ts';
import { sliceId } from '../capture/slice-codec.ts';
import { type Piece, parseElement, skeletonOf } from '../capture/slices.ts';
import { contentCoding, type HeaderList } from '../model/headers.ts';
import type { RequestHead } from '../model/reply.ts';
import { Unreadable, type WireFormat } from '../provider/format.ts';
import { referencesIn } from './references.ts';

/** A request's decoded body with its pieces and their slice ids. */
export type CutRequest = { body: Uint8Array; pieces: readonly Piece[]; ids: readonly string[] };

export type OpenedRequest = {
  cut: CutRequest | null; // null: the body was not stored, or cannot be decoded
  skeleton: Record<string, unknown> | null; // the parsed body with its cut arrays empty; null: it cannot be read
  head: RequestHead | null; // null: it cannot be read, or is in no format that is known here
  references: readonly string[]; // the ids of the provider's items that it refers to last, the last first (references.ts)
  unreadable: string | null; // why one of these is missing; never quotes the body
};

/** A request of which no body is stored. */
export const noRequest: OpenedRequest = { cut: null, skeleton: null, head: null, references: [], unreadable: null };

/** @param cut the function that cuts a decoded body, by default at every element */
export function openRequest(
  format: WireFormat | null,
  { bytes, headers, url = '' }: { bytes: Uint8Array; headers: HeaderList; url?: string },
  cut: (body: Uint8Array) => CutRequest = (body) => cutLike(body, null),
): OpenedRequest {
  const { body, undecoded } = decodedRequest(bytes, headers);
  if (!body) return { ...noRequest, unreadable: undecoded };
  const request = cut(body);
  const opened = { ...noRequest, cut: request };
  try {
    const skeleton = skeletonOf(body, request.pieces);
    try {
      const head = format && requestHead(format, skeleton, request, url);
      return { ...opened, skeleton, head, references: referencesIn(format, head, request) };
    } catch (error) {
      return { ...opened, skeleton, unreadable: reasonIn(error) };
    }
  } catch (error) {
    return { ...opened, unreadable: reasonIn(error) };
  }
}

/** A cut that the next body may begin or end like. */
export type LatestCut = KnownCut & { ids: string[] };

/** Cuts a body at every element: in less time where it has much in common with the one before it. */
export function cutLike(body: Uint8Array, previous: LatestCut | null): LatestCut {
  const { pieces, regular, same } = cutAfter(body, previous);
  const ids = pieces.map(({ start, end }, index) => {
    const known = previous?.ids[same[index] ?? -1];
    return known ?? sliceId(body.subarray(start, end));
  });
  return { body, pieces, regular, ids };
}

/** @throws what is no reason of the bytes' own */
function reasonIn(error: unknown): string {
  if (error instanceof Unreadable) return error.message;
  throw error;
}

/** The body under its content coding; null, with the reason, when it cannot be decoded whole. */
function decodedRequest(bytes: Uint8Array, headers: HeaderList): { body: Uint8Array | null; undecoded: string | null } {
  try {
    const { bytes: body, salvaged } = decodeBodySync(bytes, contentCoding(headers));
    return salvaged ? { body: null, undecoded: 'Cannot decode a body: it ends early' } : { body, undecoded: null };
  } catch (error) {
    if (error instanceof Undecodable) return { body: null, undecoded: error.message };
    throw error;
  }
}

/** What the request asks for, and where its path says some of it. @throws {Unreadable} */
function requestHead(
  format: WireFormat,
  skeleton: Record<string, unknown>,
  request: CutRequest,
  url: string,
): RequestHead {
  const head = format.requestHead(skeleton, {
    messages: format.messagesKey ? countIn(format.messagesKey, skeleton, request.pieces) : 0,
    tools: toolCount(format, skeleton, request),
  });
  return { ...head, ...format.headInPath?.(url) };
}

/** The tools that the request declares: some formats have several in an element of their array. */
function toolCount(
  { toolsKey, toolsIn }: WireFormat,
  skeleton: Record<string, unknown>,
  { body, pieces }: CutRequest,
): number {
  if (!toolsKey) return 0;
  if (!toolsIn) return countIn(toolsKey, skeleton, pieces);
  const cut = pieces.filter(({ section }) => section === toolsKey);
  const left = skeleton[toolsKey];
  const elements = [
    ...cut.map(({ start, end }) => parseElement(body.subarray(start, end))),
    ...(Array.isArray(left) ? left : []),
  ];
  return elements.reduce<number>((sum, element) => sum + toolsIn(element), 0);
}

/** How many elements a top-level array has, whether or not it was cut. */
export function countIn(key: string, skeleton: Record<string, unknown>, pieces: readonly Piece[]): number {
  const left = skeleton[key];
  return pieces.filter(({ section }) => section === key).length + (Array.isArray(left) ? left.length : 0);
}
