/** What does an answer say? Its text, when that is no longer than it may be. */

/** @throws {Error} it is longer, or breaks off */
export async function textOf(response: Response, mostBytes: number): Promise<string> {
  const tooLong = () => new Error(`it has more than ${mostBytes / 1024 / 1024} MiB`);
  if (Number(response.headers.get('content-length') ?? 0) > mostBytes) {
    await response.body?.cancel();
    throw tooLong();
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > mostBytes) throw tooLong(); // leaving the loop cancels the rest
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
