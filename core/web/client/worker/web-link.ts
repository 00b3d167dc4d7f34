/** Which addresses in recorded text may become links. */
const SCHEMES = ['http:', 'https:', 'mailto:'];

/** null: not one that leads to the web or to a letter. What is read is what `URL` reads, not what the text looks like. */
export function webLink(text: string): { href: string; host: string } | null {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text) || !URL.canParse(text)) return null; // relative ones would lead into this service
  const { protocol, href, host, pathname, username, password } = new URL(text);
  if (!SCHEMES.includes(protocol) || username !== '' || password !== '') return null;
  return { href, host: protocol === 'mailto:' ? pathname : host };
}
