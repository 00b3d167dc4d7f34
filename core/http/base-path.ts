/** The prefix of a reverse proxy in the paths of requests, whether it passes the prefix on or takes it off. */
import { getPath } from 'hono/utils/url';

/** The path of a request without the prefix. @param basePath as `/svc`; '': none */
export const pathBelow =
  (basePath: string) =>
  (request: Request): string => {
    const path = getPath(request);
    if (basePath === '' || !path.startsWith(basePath)) return path;
    const rest = path.slice(basePath.length);
    if (rest === '') return '/';
    return rest.startsWith('/') ? rest : path;
  };
