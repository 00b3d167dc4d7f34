/** Which methods does a cassette's document name for a path? As it is mounted; a path that stands there by its very name goes first. */
import { METHODS, type OpenApi } from './openapi-shape.ts';

/** In upper case, sorted; HEAD where there is a GET. Empty: the document has no such path. */
export function methodsAt({ paths }: Pick<OpenApi, 'paths'>, path: string): string[] {
  const template = path in paths ? path : Object.keys(paths).find((one) => leadsTo(one, path));
  const item = template === undefined ? {} : (paths[template] as Record<string, unknown>);
  const named = METHODS.filter((method) => method in item).map((method) => method.toUpperCase());
  return [...new Set(named.includes('GET') ? [...named, 'HEAD'] : named)].sort();
}

function leadsTo(template: string, path: string): boolean {
  const [parts, segments] = [template.split('/'), path.split('/')];
  if (parts.length !== segments.length) return false;
  return parts.every((part, index) => {
    const segment = segments[index] ?? '';
    return part === segment || (part.includes('{') && segment !== '');
  });
}
