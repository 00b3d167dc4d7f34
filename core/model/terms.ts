/** The terms on which a call was billed: what an answer holds about its price besides its counts of tokens. */

export type Terms = {
  service_tier: string; // `standard`, `priority`, `batch`, `flex` …; '' when unknown, as with the next two
  speed: string; // `standard`, `fast`
  inference_geo: string; // `global`, `us`
  web_searches: number; // run by the provider, billed apiece
  preview_searches: number; // of the web searches, those of a former tool, which has a fee of its own
  file_searches: number; // in files that the provider holds, billed apiece
  unlisted_fees: boolean; // something ran that has a fee of its own, which no list has
  audio_tokens: number; // within the input and the output
  other_models: boolean; // a model besides the answering one took part in the call; its tokens are not counted
};

/** Those of an answer that reports none. */
export const ordinaryTerms: Terms = {
  service_tier: '',
  speed: '',
  inference_geo: '',
  web_searches: 0,
  preview_searches: 0,
  file_searches: 0,
  unlisted_fees: false,
  audio_tokens: 0,
  other_models: false,
};
