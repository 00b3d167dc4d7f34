/** Which claims of a model's answer hold? Those with a link to a span that was shown and says so; the skill is made of nothing else. */
import { z } from 'zod';
import { MOST, type SkillClaim } from './model.ts';
import type { TranscriptStep } from './transcript.ts';

const Source = z.object({ span: z.string(), quote: z.string() });
const Said = z.object({ text: z.string().min(1), sources: z.array(z.unknown()).default([]) });
/** Its outer shape; members are looked at one by one, so that a bad one costs nothing but itself. */
export const SkillAnswer = z.object({
  name: z.string().default(''),
  description: z.unknown().optional(),
  tags: z.array(z.unknown()).default([]),
  sections: z.array(z.object({ heading: z.string().default(''), claims: z.array(z.unknown()) })),
});
export type SkillAnswer = z.infer<typeof SkillAnswer>;

export type Drawn = { name: string; description: string; tags: string[]; claims: SkillClaim[]; content: string };

const MOST_CLAIMS = 200;
/** That are looked at, of one claim: each is looked for in a step. */
const MOST_SOURCES = 20;

/** null: nothing of it holds. @param wanted name that the caller wants it to have */
export function drawn(answer: SkillAnswer, steps: readonly TranscriptStep[], wanted: string | undefined): Drawn | null {
  const bySpan = new Map(steps.map((step) => [step.spanId.toLowerCase(), step]));
  const sections = answer.sections
    .map(({ heading, claims }) => ({
      heading: line(heading, 100),
      claims: claims.flatMap((said) => held(said, bySpan) ?? []),
    }))
    .filter(({ claims }) => claims.length > 0);
  const claims = sections.flatMap((section) => section.claims).slice(0, MOST_CLAIMS);
  const [first] = claims;
  if (!first) return null;
  const name = line(wanted ?? '', MOST.name) || line(answer.name, MOST.name) || 'Generated skill';
  const told = held(answer.description, bySpan);
  return {
    name,
    description: line(told?.text ?? `${name}: ${first.text}`, MOST.description),
    tags: [...new Set(answer.tags.flatMap((tag) => (typeof tag === 'string' ? [line(tag, MOST.tag)] : [])))]
      .filter((tag) => tag !== '')
      .slice(0, 20),
    claims: told ? [told, ...claims] : claims,
    content: contentOf(name, told, sections),
  };
}

/** What was claimed with the spans that say so; null: none does. */
function held(said: unknown, bySpan: ReadonlyMap<string, TranscriptStep>): SkillClaim | null {
  const read = Said.safeParse(said);
  if (!read.success) return null;
  const text = line(read.data.text, 2_000);
  const steps = read.data.sources
    .slice(0, MOST_SOURCES)
    .flatMap((source) => Source.safeParse(source).data ?? [])
    .flatMap(({ span, quote }) => {
      const step = bySpan.get(span.trim().toLowerCase());
      return step && says(step, quote) && supports(step, quote, text) ? [step] : [];
    });
  const own = [...new Set(steps)];
  if (text === '' || own.length === 0 || !literals(text).every((one) => own.some((step) => says(step, one))))
    return null;
  const spans = own.map(({ sessionId, traceId, spanId }) => ({ sessionId, traceId, spanId }));
  return { text, spans };
}

const normal = (text: string): string => text.replace(/\s+/g, ' ').trim().toLowerCase();
const wholes = new WeakMap<TranscriptStep, string>();

/** All of a step in one form, made once. */
function wholeOf(step: TranscriptStep): string {
  const whole = wholes.get(step) ?? normal(step.said.map(({ text }) => text).join('\n'));
  wholes.set(step, whole);
  return whole;
}

const SHORTEST_QUOTE = 8; // characters; a word alone stands everywhere

/** Whether these very words stand in it. */
function says(step: TranscriptStep, words: string): boolean {
  const [quote, whole] = [normal(words), wholeOf(step)];
  return quote !== '' && whole.includes(quote);
}

/** Whether a quote is long enough to say something, and speaks of what the claim speaks of. */
function supports(step: TranscriptStep, quote: string, claim: string): boolean {
  if (normal(quote).length < SHORTEST_QUOTE && normal(quote) !== wholeOf(step)) return false;
  const [of, told] = [stems(claim), stems(quote)];
  return of.size === 0 || told.size === 0 || [...of].some((stem) => told.has(stem));
}

/** Of the longer words of a script that has words; claims in another one are not judged by them. */
const stems = (text: string): Set<string> =>
  new Set((normal(text).match(/[a-z0-9]{4,}/g) ?? []).map((word) => word.slice(0, 5)));

/** What stands in backticks has to stand in a source: a command that nobody ran is worse than none. */
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

function contentOf(name: string, told: SkillClaim | null, sections: readonly Section[]): string {
  let left = MOST_CLAIMS;
  const parts = sections.flatMap(({ heading, claims }) => {
    const kept = claims.slice(0, left);
    left -= kept.length;
    if (kept.length === 0) return [];
    const lines = kept.map((claim, i) => `${i + 1}. ${linked(claim)}`).join('\n');
    return [heading === '' ? lines : `## ${heading.replace(/^#+\s*/, '')}\n\n${lines}`];
  });
  return `${[`# ${name}`, ...(told ? [linked(told)] : []), ...parts].join('\n\n')}\n`;
}

/** A claim and where it was said, as the read API has it. */
const linked = ({ text, spans }: SkillClaim): string =>
  `${text} (${spans.map(({ traceId, spanId }, i) => `[source ${i + 1}](/v1/traces/${traceId}/spans/${spanId})`).join(', ')})`;
