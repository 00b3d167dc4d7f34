/** The version of the rules of the cache: raise it when they find other breaks in the same calls, and stored sessions are looked at again. */
export const CACHE_RULES_VERSION = 1;
