/** The rules of retention: which sessions are removed by themselves, by age and by the size of the database. */

/** `days` null: of any age. `maxBytes` null: at any size. Nothing is removed where both are null and no project has days. */
export type RetentionRules = {
  days: number | null;
  maxBytes: number | null;
  /** In place of `days`; null: sessions of the project are never removed, by age or by size. */
  projects: ReadonlyMap<string, number | null>;
  /** Only counted, as the status shows it. */
  dryRun: boolean;
};

export const FOREVER = 'forever';

const PROJECT_RULE = /^(?<project>.+)=(?:(?<days>[1-9]\d{0,4})|forever)$/s;

/** Of `project=days` or `project=forever`; a project's name may hold `=`. Null: it is neither. */
export function projectRule(text: string): { project: string; days: number | null } | null {
  const { project, days } = PROJECT_RULE.exec(text)?.groups ?? {};
  return project === undefined ? null : { project, days: days === undefined ? null : Number(days) };
}

type Settings = { days?: number | undefined; max_bytes?: number | undefined; projects: string[]; dry_run: boolean };

/** Of the settings `retention.*`; null: nothing is ever removed. */
export function retentionRules({ days, max_bytes, projects, dry_run }: Settings): RetentionRules | null {
  const stated = projects.flatMap((text) => projectRule(text) ?? []);
  // As in 'keep =forever': it is also for the project of that name without the space, which else would not be kept.
  const trimmed = stated
    .map((rule) => ({ ...rule, project: rule.project.trim() }))
    .filter(({ project }) => project !== '');
  const rules = new Map([...trimmed, ...stated].map(({ project, days: own }) => [project, own]));
  const any = days !== undefined || max_bytes !== undefined || [...rules.values()].some((own) => own !== null);
  return any ? { days: days ?? null, maxBytes: max_bytes ?? null, projects: rules, dryRun: dry_run } : null;
}
