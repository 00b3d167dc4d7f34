/** The cost of a call: dated list prices of `@pydantic/genai-prices`, applied with exact decimals. Nothing is fetched. */
import { calcPrice, type ModelPrice } from '@pydantic/genai-prices';
import { modelAndSuffix } from '../harness/harnesses.ts';
import type { Terms } from '../model/terms.ts';
import type { Usage } from '../model/usage.ts';
import { providerNamed } from '../provider/providers.ts';
import {
  type AppliedRates,
  type ConfiguredRates,
  type ExactCostParts,
  multiplesUsed,
  timesBill,
  tokenBill,
  withOutput,
} from './bill.ts';
import { addUsd, type Usd, usdOf } from './money.ts';

/** The price row that was used. `date`: since when the row holds; '' when the list gives none. `rates`: as applied to this call. */
export type Price = { model: string; source: string; date: string; rates: AppliedRates };
export type Priced = { usd: Usd; parts: ExactCostParts; price: Price };

/**
 * A price lookup, passed to the fold so that a caller may use other prices. `at` is UTC in the form of the projection's instants.
 * Without `terms` the call is taken for an ordinary one, of text alone.
 */
export type PriceOf = (provider: string, model: string, at: string, usage: Usage, terms?: Terms) => Priced | null;

const SOURCE = 'genai-prices 0.1.8'; // a test compares it with the installed package
const US_MULTIPLE = '1.1'; // on tokens of all kinds, for the models that let a client request it
const PREVIEWS_KCOUNT = 25; // USD for a thousand of OpenAI's web search previews on a model that does not reason; the list has only the others
const PREVIEWS = `web search previews at ${PREVIEWS_KCOUNT} per 1,000`;
const IN_US = `inference in the US at ${US_MULTIPLE}`;

/**
 * The cost of one call at the list price of its instant; null when the list does not know the model, or has no price for
 * something that was used: an unknown price is never 0. The list has only a provider's ordinary terms, so a call on others
 * (priority, flex, fast) has no price either.
 * Tiers are chosen by all input tokens of the call. Where a multiple replaces a price that the list lacks, `source` names it.
 */
export const priceOf: PriceOf = (provider, model, at, usage, terms) => {
  const pricing = providerNamed(provider)?.pricing;
  const name = pricing ? pricing.listed(modelAndSuffix(model.trim())[0]) : '';
  if (!pricing || name === '' || (terms && !isOrdinary(terms))) return null;
  const found = listed(pricing.list, name, at);
  if (!found || isOtherVersion(name, found.model.id)) return null;

  const rates = ratesOf(found.model_price, usage);
  const fees = terms ? feesOf(found.model_price, terms) : '0';
  if (rates === null || fees === null) return null;
  const tokens = tokenBill(provider, usage, rates);
  const inUs = terms?.inference_geo === 'us';
  const multiples = multiplesUsed(provider, usage, rates);
  const notes = [
    multiples && `cache writes at ${multiples.for5m} (5 minutes) and ${multiples.for1h} (1 hour) times input`,
    inUs && IN_US,
    terms && terms.preview_searches > 0 && PREVIEWS,
  ].filter((note) => typeof note === 'string');
  const bill = inUs ? timesBill(tokens, US_MULTIPLE) : tokens;
  const { usd, parts } = fees === '0' ? bill : withOutput(bill, fees);
  return {
    usd,
    parts,
    price: {
      model: found.model.id,
      source: [SOURCE, ...notes].join(', '),
      date: dateOf(found.model.prices, found.model_price),
      rates: bill.rates,
    },
  };
};

/** The context window of a model in tokens; null where the list does not give one. */
export function contextWindow(provider: string, model: string, at: string): number | null {
  const pricing = providerNamed(provider)?.pricing;
  const name = pricing ? pricing.listed(modelAndSuffix(model.trim())[0]) : '';
  const found = pricing && name !== '' ? listed(pricing.list, name, at) : null;
  return found && !isOtherVersion(name, found.model.id) ? (found.model.context_window ?? null) : null;
}

const REMEMBERED = 1_000;
const rowsOfMinutes = new Map<string, ReturnType<typeof calcPrice>>();

/** The list's row for a model at an instant. Rows change with a day or at a whole minute of it, and finding one costs as much as a small fold. */
function listed(list: string, name: string, at: string): ReturnType<typeof calcPrice> {
  const key = `${list} ${name} ${at.slice(0, 'YYYY-MM-DDThh:mm'.length)}`;
  const known = rowsOfMinutes.get(key);
  if (known !== undefined) return known;
  const found = calcPrice({}, name, { providerId: list, timestamp: new Date(at) });
  if (rowsOfMinutes.size === REMEMBERED) rowsOfMinutes.clear();
  rowsOfMinutes.set(key, found);
  return found;
}

const ORDINARY_TIERS = new Set(['', 'standard', 'default']);
const ORDINARY_SPEEDS = new Set(['', 'standard']);
const KNOWN_PLACES = new Set(['', 'global', 'not_available', 'us']);

const isOrdinary = ({
  service_tier,
  speed,
  inference_geo,
  unlisted_fees,
  audio_tokens,
  other_models,
}: Terms): boolean =>
  ORDINARY_TIERS.has(service_tier) &&
  ORDINARY_SPEEDS.has(speed) &&
  KNOWN_PLACES.has(inference_geo) &&
  !unlisted_fees &&
  audio_tokens === 0 && // the list prices audio for few models, and does not show where such a price is missing
  !other_models;

/** The list matches some models by prefix, so it takes a `claude-sonnet-5-5` that it does not know for `claude-sonnet-5`. */
const isOtherVersion = (name: string, known: string): boolean =>
  name.toLowerCase().startsWith(known) && /^-[1-9]\d?(?!\d)/.test(name.slice(known.length));

function ratesOf(price: ModelPrice, usage: Usage): ConfiguredRates | null {
  const rate = (key: string) => rateOf(price[key], usage.input_tokens);
  const input = rate('input_mtok');
  const output = rate('output_mtok') ?? (usage.output_tokens > 0 ? undefined : '0');
  if (input === undefined || output === undefined) return null;
  return {
    input,
    output,
    cache_read: rate('cache_read_mtok'),
    cache_write: rate('cache_write_mtok'),
    cache_write_1h: rate('cache_write_1h_mtok'),
  };
}

const rateOf = (price: ModelPrice[string], inputTokens: number): string | undefined => {
  if (price === undefined) return undefined;
  if (typeof price === 'number') return String(price);
  return String(price.tiers.reduce((rate, tier) => (inputTokens > tier.start ? tier.price : rate), price.base));
};

/** What the provider's own tools cost apiece; null where the list has no price for one that ran. */
function feesOf(price: ModelPrice, { web_searches, preview_searches, file_searches }: Terms): Usd | null {
  const web = addFees(
    feeOf(price.web_searches_kcount, web_searches - preview_searches),
    feeOf(PREVIEWS_KCOUNT, preview_searches),
  );
  const files = feeOf(price.storage_searches_kcount, file_searches);
  return addFees(web, files);
}

const addFees = (one: Usd | null, other: Usd | null): Usd | null =>
  one === null || other === null ? null : addUsd(one, other);

/** The list's price is for a thousand of them. */
function feeOf(thousand: ModelPrice[string], count: number): Usd | null {
  if (count === 0) return '0';
  return typeof thousand === 'number' ? usdOf(count * 1_000, String(thousand)) : null;
}

function dateOf(prices: NonNullable<ReturnType<typeof calcPrice>>['model']['prices'], used: ModelPrice): string {
  if (!Array.isArray(prices)) return '';
  const constraint = prices.find((row) => row.prices === used)?.constraint;
  return constraint?.type === 'start_date' ? constraint.start_date : '';
}
