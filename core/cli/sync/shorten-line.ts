/** Leaves the rest of long texts out of a line of JSON while it is read, so that it never has to be held, however long it is. */

/** The bytes of a text that stay. */
const KEPT_BYTES = 16 * 1024;

const [QUOTE, BACKSLASH, LETTER_U] = [0x22, 0x5c, 0x75];

export type Shortener = {
  /** What stays of the next bytes. */
  add(bytes: Buffer): Buffer;
};

/** Each long text ends with how much of it is left out, and stays a text: nothing is cut within a character or an escape. */
export function openShortener(): Shortener {
  let isText = false;
  let escaped = 0; // bytes until the end of the escape that is open
  let length = 0; // of the text so far
  let leftOut = 0;
  const take = (byte: number): 'keep' | 'drop' | 'end' => {
    if (!isText) {
      if (byte === QUOTE) [isText, length, leftOut] = [true, 0, 0];
      return 'keep';
    }
    if (byte === QUOTE && escaped === 0) {
      isText = false;
      return 'end';
    }
    const isWithin = escaped > 0 || (byte & 0xc0) === 0x80;
    if (escaped > 0) escaped += byte === LETTER_U && escaped === 1 ? 3 : -1;
    else if (byte === BACKSLASH) escaped = 1;
    length++;
    if (leftOut === 0 && (length <= KEPT_BYTES || isWithin)) return 'keep';
    leftOut++;
    return 'drop';
  };
  return {
    add: (bytes) => {
      const out: Buffer[] = [];
      let from = 0; // of the bytes that stay and are not in `out` yet
      for (let at = 0; at < bytes.length; at++) {
        const what = take(bytes[at] ?? 0);
        if (what === 'keep' || (what === 'end' && leftOut === 0)) continue;
        if (from < at) out.push(bytes.subarray(from, at)); // at the first byte that is dropped, and at an end
        if (what === 'end') out.push(Buffer.from(` [svc sync left out ${leftOut} bytes]`));
        from = what === 'end' ? at : at + 1;
        if (what === 'end') leftOut = 0;
      }
      if (from < bytes.length) out.push(bytes.subarray(from));
      return Buffer.concat(out);
    },
  };
}
