/**
 * The message that gives a prepared statement its parameters (PostgreSQL, 'Message Formats', Bind). PGlite's own serializer counts each text character
 * by character, twice, and copies it several times: a tenth of the database thread's time while transcripts are derived.
 */

/** Both formats are text, of the parameters and of the result's columns. */
const ALL_TEXT = 0;

/** @param name of the prepared statement; '' the unnamed one */
export function bindMessage(name: string, parameters: readonly (string | null)[]): Uint8Array {
  const lengths = parameters.map((text) => (text === null ? 0 : Buffer.byteLength(text)));
  const nameLength = Buffer.byteLength(name);
  const length = 4 + 1 + nameLength + 1 + 2 + 2 + lengths.reduce((sum, each) => sum + 4 + each, 0) + 2; // without the type's byte
  const message = Buffer.allocUnsafe(1 + length);
  let at = message.writeUInt8(0x42); // B
  at = message.writeInt32BE(length, at);
  at = message.writeUInt8(0, at); // the unnamed portal
  at += message.write(name, at);
  at = message.writeUInt8(0, at);
  at = message.writeInt16BE(ALL_TEXT, at);
  at = message.writeUInt16BE(parameters.length, at);
  for (const [n, text] of parameters.entries()) {
    at = message.writeInt32BE(text === null ? -1 : (lengths[n] ?? 0), at);
    if (text !== null) at += message.write(text, at);
  }
  message.writeInt16BE(ALL_TEXT, at);
  return message;
}
