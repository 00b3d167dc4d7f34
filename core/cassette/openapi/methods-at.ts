/** The methods that a cassette's document names for a path, as it is mounted. A literal path wins over a template. */
import { METHODS, type OpenApi } from './openapi-shape.ts';

/** The methods in upper case, sorted; HEAD where there is a GET. Empty: the document has no such path. */
export function methodsAt({ paths }: Pick<OpenApi, 'paths'>, path: string): string[] {
  const template = path in paths ? path : Object.keys(paths).find((one) => matches(one, path));
  const item = template === undefined ? {} : (paths[template] as Record<string, unknown>);
  const declared = METHODS.filter((method) => method in item).map((method) => method.toUpperCase());
  return [...new Set(declared.includes('GET') ? [...declared, 'HEAD'] : declared)].sort();
}

function matches(template: string, path: string): boolean {
  const [parts, segments] = [template.split('/'), path.split('/')];
  if (parts.length !== segments.length) return false;
  return parts.every((part, index) => {
    const segment = segments[index] ?? '';
    return part === segment || (part.includes('{') && segment !== '');
  });
}
