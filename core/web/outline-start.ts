/** How the beginning of a session is read: short, so that its first screen need not wait for ten thousand spans. */

/** The parameters of the first page. The document loads its address ahead, so the script has to use the same. */
export const OUTLINE_START = { order: 'oldest', limit: '300' } as const;
