/** The prefix of a reverse proxy in the target of a request. The proxy may pass it on or take it off. */

/** The target of a request without the prefix. @param basePath as `/svc`; '': none @param target as it was sent: `/svc/v1/sessions?limit=2` */
export function targetBelow(basePath: string, target: string): string {
  if (basePath === '' || !target.startsWith(basePath)) return target;
  const rest = target.slice(basePath.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : target;
}
