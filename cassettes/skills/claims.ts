/** Verifies the claims of a model's response. One holds when it links to a span that was shown and says so; the skill has no others. */
import { z } from 'zod';
import { MOST, type SkillClaim } from './model.ts';
import type { TranscriptStep } from './transcript.ts';

const Source = z.object({ span: z.string(), quote: z.string() });
const RawClaim = z.object({ text: z.string().min(1), sources: z.array(z.unknown()).default([]) });
/** The outer shape of a response; members are checked one by one, so that an invalid one costs nothing but itself. */
export const SkillAnswer = z.object({
  name: z.string().default(''),
  description: z.unknown().optional(),
  tags: z.array(z.unknown()).default([]),
  sections: z.array(z.object({ heading: z.string().default(''), claims: z.array(z.unknown()) })),
});
export type SkillAnswer = z.infer<typeof SkillAnswer>;

export type Drawn = { name: string; description: string; tags: string[]; claims: SkillClaim[]; content: string };

const MOST_CLAIMS = 200;
/** How many sources of one claim are checked: each is searched in a step. */
const MOST_SOURCES = 20;

/** The skill drawn from a response; null: no claim holds. @param requestedName the name that the caller chose */
export function drawn(
  answer: SkillAnswer,
  steps: readonly TranscriptStep[],
  requestedName: string | undefined,
): Drawn | null {
  const bySpan = new Map(steps.map((step) => [step.spanId.toLowerCase(), step]));
  const sections = answer.sections
    .map(({ heading, claims }) => ({
      heading: line(heading, 100),
      claims: claims.flatMap((claim) => verifiedClaim(claim, bySpan) ?? []),
    }))
    .filter(({ claims }) => claims.length > 0);
  const claims = sections.flatMap((section) => section.claims).slice(0, MOST_CLAIMS);
  const [first] = claims;
  if (!first) return null;
  const name = line(requestedName ?? '', MOST.name) || line(answer.name, MOST.name) || 'Generated skill';
  const description = verifiedClaim(answer.description, bySpan);
  return {
    name,
    description: line(description?.text ?? `${name}: ${first.text}`, MOST.description),
    tags: [...new Set(answer.tags.flatMap((tag) => (typeof tag === 'string' ? [line(tag, MOST.tag)] : [])))]
      .filter((tag) => tag !== '')
      .slice(0, 20),
    claims: description ? [description, ...claims] : claims,
    content: contentOf(name, description, sections),
  };
}

/** A claim with the spans that support it; null: none does. */
function verifiedClaim(claim: unknown, bySpan: ReadonlyMap<string, TranscriptStep>): SkillClaim | null {
  const parsed = RawClaim.safeParse(claim);
  if (!parsed.success) return null;
  const text = line(parsed.data.text, 2_000);
  const steps = parsed.data.sources
    .slice(0, MOST_SOURCES)
    .flatMap((source) => Source.safeParse(source).data ?? [])
    .flatMap(({ span, quote }) => {
      const step = bySpan.get(span.trim().toLowerCase());
      return step && containsText(step, quote) && supports(step, quote, text) ? [step] : [];
    });
  const supporting = [...new Set(steps)];
  if (
    text === '' ||
    supporting.length === 0 ||
    !literals(text).every((one) => supporting.some((step) => containsText(step, one)))
  )
    return null;
  const spans = supporting.map(({ sessionId, traceId, spanId }) => ({ sessionId, traceId, spanId }));
  return { text, spans };
}

const normal = (text: string): string => text.replace(/\s+/g, ' ').trim().toLowerCase();
const wholes = new WeakMap<TranscriptStep, string>();

/** The whole normalised text of a step, computed once. */
function wholeOf(step: TranscriptStep): string {
  const whole = wholes.get(step) ?? normal(step.utterances.map(({ text }) => text).join('\n'));
  wholes.set(step, whole);
  return whole;
}

const SHORTEST_QUOTE = 8; // characters; a single word occurs everywhere

/** Whether the step contains exactly these words. */
function containsText(step: TranscriptStep, words: string): boolean {
  const [quote, whole] = [normal(words), wholeOf(step)];
  return quote !== '' && whole.includes(quote);
}

/** Whether a quote is long enough to be evidence, and shares a word with the claim. */
function supports(step: TranscriptStep, quote: string, claim: string): boolean {
  if (normal(quote).length < SHORTEST_QUOTE && normal(quote) !== wholeOf(step)) return false;
  const [claimStems, quoteStems] = [stems(claim), stems(quote)];
  return claimStems.size === 0 || quoteStems.size === 0 || [...claimStems].some((stem) => quoteStems.has(stem));
}

/** Stems of the longer words in Latin letters or digits; claims in other scripts have none and are not compared by them. */
const stems = (text: string): Set<string> =>
  new Set((normal(text).match(/[a-z0-9]{4}[a-z0-9]*/g) ?? []).map((word) => word.slice(0, 5)));

/** The texts in backticks, which have to occur in a source: a command that was never run is worse than none. */
const literals = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '');

/** One line of text without links, pictures and markup that a reader would follow or fetch. */
const line = (text: string, most: number): string =>
  text
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/!(?=\[)/g, '')
    .replace(/\](?=[([])/g, '] ')
    .replace(/<(?=[a-z/!?])/gi, '< ')
    .trim()
    .slice(0, most)
    .replace(/[\ud800-\udbff]$/, '')
    .trim();

type Section = { heading: string; claims: SkillClaim[] };

function contentOf(name: string, description: SkillClaim | null, sections: readonly Section[]): string {
  let remaining = MOST_CLAIMS;
  const parts = sections.flatMap(({ heading, claims }) => {
    const listed = claims.slice(0, remaining);
    remaining -= listed.length;
    if (listed.length === 0) return [];
    const lines = listed.map((claim, i) => `${i + 1}. ${linked(claim)}`).join('\n');
    return [heading === '' ? lines : `## ${heading.replace(/^#+\s*/, '')}\n\n${lines}`];
  });
  return `${[`# ${name}`, ...(description ? [linked(description)] : []), ...parts].join('\n\n')}\n`;
}

/** A claim with links to its spans in the read API. */
const linked = ({ text, spans }: SkillClaim): string =>
  `${text} (${spans.map(({ traceId, spanId }, i) => `[source ${i + 1}](/v1/traces/${traceId}/spans/${spanId})`).join(', ')})`;
