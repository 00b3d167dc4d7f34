/** Where a text can be looked for, in words. */

/** '' is the usual. */
export const PLACE_CHOICES = [
  ['', 'all but system prompts'],
  ['conversation', 'prompts and answers'],
  ['tools', 'tools'],
  ['thinking', 'thinking'],
  ['prompt', 'system prompts'],
  ['conversation,tools,thinking,prompt', 'everything'],
] as const;
