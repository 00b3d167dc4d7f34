/** Canonical JSON by RFC 8785, in which equal values are equal bytes: keys sorted, numbers as ECMAScript writes them. */
import published from 'canonicalize';

// the package's types describe an ES module, but what it exports is the function itself
const canonicalize = published as unknown as (value: unknown) => string | undefined;

/** Members that are undefined are left out. @throws for NaN and infinities, which JSON does not know */
export const canonicalJson = (value: unknown): string => canonicalize(value) ?? 'null';
