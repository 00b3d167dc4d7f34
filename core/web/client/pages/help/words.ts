/** What the words on screen mean. */

export const WORDS: readonly { word: string; means: string }[] = [
  {
    word: 'session',
    means: 'One conversation of a client with a model, as the client names it or as its content shows.',
  },
  { word: 'prompt', means: 'A message of a person with all that followed from it. The API calls it a trace.' },
  {
    word: 'step',
    means: 'A call of a model, a tool with its result, an agent at work, or context put in. The API calls it a span.',
  },
  { word: 'call', means: 'One request to a provider with its response. Its bytes are stored as they passed.' },
  { word: 'thread', means: 'One line of conversation in a session: the main one, or that of a sub-agent.' },
  {
    word: 'calls beside',
    means: 'Calls that a harness makes of its own: titles, permission checks, suggestions, summaries.',
  },
  {
    word: 'place',
    means:
      'Where a text stands: in prompts and answers, in tools, in thinking, or in system prompts and tool definitions.',
  },
  {
    word: 'indexed',
    means: 'Its words are known to Find. New steps are indexed within seconds; find in a session needs no index.',
  },
  {
    word: 'compaction',
    means: 'The harness replaces a long history by a summary; what went out of it the model no longer sees.',
  },
  {
    word: 'cost',
    means: 'From the tokens that the provider counted and the price of the model. A dash: no price is known.',
  },
  { word: 'live', means: 'A call came within the last five minutes, and the session has not ended.' },
  { word: 'failed', means: 'The last answer of the session was an error.' },
  { word: 'interrupted', means: 'The client left in the middle of the last answer, as with Ctrl-C.' },
  { word: 'abandoned', means: 'The client left before there was an answer.' },
  { word: 'cassette', means: 'A module that adds to the read API: export, search and skills come along.' },
];
