/** The interface of a provider: all that is particular to it. One value per provider, in a file of its own, with its formats. */
import type { Caching } from './caching.ts';
import type { WireFormat } from './format.ts';
import type { Fields } from './json.ts';
import type { ProviderId } from './provider-ids.ts';

export type Provider<
  Id extends ProviderId = ProviderId,
  Formats extends readonly WireFormat[] = readonly WireFormat[],
> = {
  /** In the configuration, as the prefix of its paths, and in what is stored. */
  id: Id;
  /** Its own wire formats. They match different paths, so their order does not matter. */
  formats: Formats;
  /** Formats of others that it serves as well. */
  alsoServes: readonly WireFormat[];
  /** The format of a request whose path is unknown. */
  formatOf(request: Fields): Formats[number];
  /** What its clients take as part of their base URL, after the provider's prefix; '' for nothing. */
  basePath: string;
  /** How to point clients at it. @param base address on the capture proxy, with prefix and `basePath` */
  clients(base: string): readonly (readonly [name: string, line: string])[];
  /** Its clients' libraries by their `user-agent`; `$1` is the version. */
  libraries: readonly (readonly [name: string, sign: RegExp])[];
  /** The paths by which a call is recognised as meant for it, without query and prefix. */
  paths: RegExp;
  /** Ends of the paths of POST requests that request no turn of a model: patterns. */
  noTurn: readonly string[];
  /** How its keys begin; null: it takes any, or none. */
  key: RegExp | null;
  /** The header with the key of its clients; null: only `authorization`. */
  keyHeader: string | null;
  /** A header that the clients of no other provider send; null: none. */
  ownHeader: string | null;
  /** An error in its own shape, so that its SDKs understand what we answer in its place. */
  errorBody(status: number, message: string): string;
  pricing: Pricing;
  /** How it caches the prompts of a model; null: it does not say, or not for this model or format. */
  caching(call: { model: string; format: string }): Caching | null;
};

/** How a provider's calls are priced by a list. */
export type Pricing = {
  /** The provider's name in the price list of `@pydantic/genai-prices`. */
  list: string;
  /** A model's name as the list has it; '': its price in the list is not what a call costs. */
  listed(model: string): string;
  /** Multiples of the input price, as decimals, for cache writes that a list has no price for; null: they cost what input costs. */
  cacheWrites: { for5m: string; for1h: string } | null;
};

/** Declares a provider, keeping its ids as literal types. */
export const defineProvider = <const Id extends ProviderId, const Formats extends readonly WireFormat[]>(
  provider: Provider<Id, Formats>,
): Provider<Id, Formats> => provider;
