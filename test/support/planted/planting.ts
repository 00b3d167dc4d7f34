/** One place for a credential: which part of a call, where in words, and the text with it. */

/** A line of a head, a parameter of a query or fragment, the user part of an address, or members of an ingested document. */
export type Planting = readonly [place: Place, where: string, lineOf: (secret: string) => string];
export type Place =
  | 'request'
  | 'query'
  | 'fragment'
  | 'address'
  | 'trailer'
  | 'answer'
  | 'answer-trailer'
  | 'socket'
  | 'settings'
  | 'ingest-meta'
  | 'ingest-session'
  | 'ingest-turn';
