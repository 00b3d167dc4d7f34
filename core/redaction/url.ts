/** Redacts credentials in a URL: the values of parameters that are ones, a name and password before the host, keys in any place. */
import { isCredentialParameter } from './names.ts';
import { REDACTED } from './shapes.ts';
import { decoded, redactText } from './text.ts';

/**
 * A URL, or the path of one with its query and fragment, as it may be stored: readable except for what is replaced.
 * @example
 * redactUrl('/v1/models?key=AIzaSyExample&page=2'); // => '/v1/models?key=[redacted]&page=2'
 */
export function redactUrl(url: string): string {
  const query = url.search(/[?#]/);
  if (query < 0) return redactText(url);
  const parameters = url.slice(query).split(/(?<=[&#])|(?=[&#])/);
  return redactText(url.slice(0, query)) + parameters.map((piece, n) => redactedPiece(piece, n === 0)).join('');
}

/** A parameter, or the sign between two. */
const redactedPiece = (piece: string, isFirst: boolean): string =>
  isFirst && piece.startsWith('?') ? `?${redactedParameter(piece.slice(1))}` : redactedParameter(piece);

/** `;` separates parameters for some servers and is part of the value for others: from the first credential on, all is replaced. */
function redactedParameter(parameter: string): string {
  for (let from = 0; from >= 0 && from < parameter.length; ) {
    const semicolon = parameter.indexOf(';', from);
    const equals = parameter.indexOf('=', from);
    if (equals < 0) break;
    if ((semicolon < 0 || equals < semicolon) && isCredentialParameter(nameIn(parameter.slice(from, equals))))
      return `${parameter.slice(0, equals + 1)}${REDACTED}`;
    from = semicolon < 0 ? -1 : semicolon + 1;
  }
  return redactText(parameter);
}

/** A fragment may be a path with a query of its own: `#/callback?token=…`. */
const nameIn = (encoded: string): string => decoded(encoded.slice(encoded.lastIndexOf('?') + 1)).trim();
