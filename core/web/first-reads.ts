/** The first reads of pages. The document loads their addresses ahead, so its script has to use the same. */

/** Parameters of the first page of the list of sessions. */
export const SESSIONS_START = { limit: '50' } as const;

/** Of a session's outline: short, so that its first screen need not wait for ten thousand spans. */
export const OUTLINE_START = { order: 'oldest', limit: '300' } as const;

/** Of an outline around the span that an address names, after the parameter `around`. */
export const OUTLINE_AROUND = { limit: '300' } as const;
