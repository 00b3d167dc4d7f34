/** The numbers of the page: each carries its exact value, for readers from outside and in its tooltip. */
import { now } from '../store/clock.ts';
import { agoText, bytesText, costText, countText, durationText, grouped, momentText } from './number-text.ts';
import './figure.css';

type Named = { name?: string };

/** @param reason why there is none @param atLeast some of it has no known price, so it is more */
export function Cost({
  usd,
  reason = 'no known price',
  atLeast = false,
  name = 'cost_usd',
}: Named & { usd: number | null; reason?: string; atLeast?: boolean }) {
  if (usd === null) return <Unknown name={name} reason={reason} />;
  return <Figure name={name} value={usd} text={`${atLeast ? '≥ ' : ''}${costText(usd)}`} exact={`$${usd}`} />;
}

export const Tokens = ({ count, name = 'tokens' }: Named & { count: number }) => (
  <Figure name={name} value={count} text={countText(count)} exact={`${grouped(count)} tokens`} />
);

export const Count = ({ count, name }: { count: number; name: string }) => (
  <Figure name={name} value={count} text={countText(count)} exact={grouped(count)} />
);

export const Bytes = ({ count, name = 'bytes' }: Named & { count: number }) => (
  <Figure name={name} value={count} text={bytesText(count)} exact={`${grouped(count)} bytes`} />
);

/** @param us microseconds; null: not known */
export const Duration = ({ us, name = 'duration_us' }: Named & { us: number | null }) =>
  us === null ? (
    <Unknown name={name} reason="not known" />
  ) : (
    <Figure name={name} value={us} text={durationText(us)} exact={`${us / 1_000} ms`} />
  );

/** How long ago it was. @param at as the API writes instants */
export function When({ at, name = 'at' }: Named & { at: string }) {
  const ms = Date.parse(at);
  return (
    <time class="figure" dateTime={at} title={momentText(ms)} data-number={name} data-value={at}>
      {agoText(now.value - ms)}
    </time>
  );
}

const Figure = ({ name, value, text, exact }: { name: string; value: number; text: string; exact: string }) => (
  <span class="figure" data-number={name} data-value={value} title={exact}>
    {text}
  </span>
);

const Unknown = ({ name, reason }: { name: string; reason: string }) => (
  <span class="figure" data-number={name} data-value="" title={reason}>
    <span aria-hidden="true">—</span>
    <span class="spoken">{reason}</span>
  </span>
);
