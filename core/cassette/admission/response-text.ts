/** The body of a response as text, up to a size limit. */
import { bodyText } from '../../http/body-text.ts';

/** @throws {Error} it is longer, or breaks off */
export async function textOf(response: Response, mostBytes: number): Promise<string> {
  const tooLong = () => new Error(`it has more than ${mostBytes / 1024 / 1024} MiB`);
  if (Number(response.headers.get('content-length') ?? 0) > mostBytes) {
    await response.body?.cancel();
    throw tooLong();
  }
  const text = await bodyText(response.body, mostBytes);
  if (text === null) throw tooLong();
  return text;
}
