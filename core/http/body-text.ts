/** Reads a body as text, up to a limit. */

/**
 * null: the body is longer than `mostBytes`.
 * @param droppedBytes how much of the rest is read and dropped before the body is cancelled
 * @param onCancel called when the body was not read to its end
 */
export async function bodyText(
  body: ReadableStream<Uint8Array> | null,
  mostBytes: number,
  droppedBytes = 0,
  onCancel = () => {},
): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > mostBytes + droppedBytes) {
      onCancel();
      return null; // leaving the loop cancels the rest
    }
    if (bytes <= mostBytes) chunks.push(chunk);
    else chunks.length = 0;
  }
  return bytes > mostBytes ? null : Buffer.concat(chunks).toString('utf8');
}
