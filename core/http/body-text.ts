/** Reads a body as text, up to a limit. */

/** null: the body is longer than `mostBytes`; the rest is not read. */
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
