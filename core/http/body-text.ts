/** What does a body say? Its text, when that is no longer than it may be. */

/** null: it is longer; the rest of it is not taken. */
export async function bodyText(body: ReadableStream<Uint8Array> | null, mostBytes: number): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > mostBytes) return null; // leaving the loop cancels the rest
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
